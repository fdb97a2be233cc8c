#pragma once
// Shared: what all connections of one server have in common. Loop thread only.

#include "host/api/places.hpp"
#include "host/api/router.hpp"
#include "host/api/server.hpp"
#include "host/api/tasks.hpp"
#include "host/sandbox/service.hpp"
#include "host/sandbox/workers.hpp"
#include "host/storage/vfs_folders.hpp"

#include <memory>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/thread_pool.hpp>

namespace host::api {

struct Shared {
    Shared(boost::asio::any_io_executor loop_executor, boost::asio::thread_pool& worker_pool,
           sandbox::Service& served, ServerOptions given);

    boost::asio::any_io_executor loop;
    const std::unique_ptr<sandbox::Workers> workers;
    sandbox::Service& service;
    const ServerOptions options;
    const storage::VfsFolders folders;
    const Router router;
    Places connections;
    Places waiting;
    Tasks tasks;  // listeners and connections
};

}  // namespace host::api
