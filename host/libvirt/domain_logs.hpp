#pragma once
// libvirt keeps a log file per domain and per virtiofsd for ever. A run's are removed with it.

#include "protocol/base/ids.hpp"

namespace host::libvirt {

// Best effort: what cannot be removed is left.
void remove_logs(const protocol::RunId& run);

}  // namespace host::libvirt
