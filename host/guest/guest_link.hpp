#pragma once
// The daemon's end of a run's host link: sandbox::Guest over protocol::Link. Used by main.cpp's
// wiring only.
//
// What it promises beyond sandbox/guest.hpp:
//  - Until the first answer it dials without growing pauses, so that the agent is heard at most 50
//  ms
//    after it can answer. Later losses are repaired with pauses from limits::connect_retry to
//    connect_retry_max, the first attempt at once.
//  - Everything in flight survives a lost connection to the same agent: commands, followers, inputs
//    and calls are opened again, in the order in which they were asked for.
//  - A failing connect() is told by its result alone; `lost` is for what happens after it
//  succeeded.
//  - A broken rule closes the connection and is logged, escaped; after max_violations of them the
//    guest is given up.
//  - Dropping the last reference is close(). No callback is made after close().
//
// Threading: the executor's thread only, like sandbox::Guest.

#include "host/model/defaults.hpp"
#include "host/sandbox/guest.hpp"

#include <chrono>
#include <memory>

#include <boost/asio/any_io_executor.hpp>

namespace host::guest {

// Broken rules forgiven in a run's whole life. One can be a bug of an older agent; more is a guest
// that plays.
inline constexpr int max_violations = 5;

// Times that a test cannot wait for.
struct Patience {
    Patience() = default;
    std::chrono::milliseconds link_lost_limit = model::defaults::link_lost_limit;
};

std::shared_ptr<sandbox::Guest> make_guest(boost::asio::any_io_executor executor,
                                           const protocol::RunId& run,
                                           sandbox::GuestAddress address,
                                           sandbox::GuestCallbacks callbacks,
                                           Patience patience = Patience());

}  // namespace host::guest
