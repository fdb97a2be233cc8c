#include "host/sandbox/spawn.hpp"

#include <cstdlib>
#include <exception>

#include <boost/asio/co_spawn.hpp>
#include <spdlog/spdlog.h>

namespace host::sandbox {

void spawn(boost::asio::any_io_executor executor, std::string_view what,
           boost::asio::awaitable<void> task) {
    boost::asio::co_spawn(
        executor, std::move(task), [what = std::string(what)](std::exception_ptr thrown) {
            if (!thrown) return;
            try {
                std::rethrow_exception(thrown);
            } catch (const std::exception& error) {
                spdlog::critical("a task threw task={} error={}", what, error.what());
            } catch (...) {
                spdlog::critical("a task threw task={}", what);
            }
            spdlog::shutdown();
            std::abort();
        });
}

}  // namespace host::sandbox
