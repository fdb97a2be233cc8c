#pragma once
// Hears of the death of a process that is not our child, by pidfd: of a virtiofsd, which libvirt
// itself does not watch.

#include "host/sandbox/clock.hpp"

#include <functional>
#include <memory>
#include <sys/types.h>

#include <boost/asio/any_io_executor.hpp>

namespace host::sandbox {

// `died` is called once from the executor, also when the process was gone already; never after the
// returned handle was destroyed.
std::unique_ptr<Alarm> watch_process(boost::asio::any_io_executor executor, pid_t pid,
                                     std::function<void()> died);

}  // namespace host::sandbox
