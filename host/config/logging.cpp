#include "host/config/logging.hpp"

#include <cstdlib>

#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>

namespace host::config {

void set_up_logging(const std::string& level) {
    auto logger = std::make_shared<spdlog::logger>(
        "capsuled", std::make_shared<spdlog::sinks::stderr_sink_mt>());
    logger->set_level(spdlog::level::from_str(level));
    logger->flush_on(spdlog::level::trace);
    // The journal adds the time itself.
    logger->set_pattern(std::getenv("JOURNAL_STREAM") ? "%l %v" : "%Y-%m-%dT%H:%M:%S.%e%z %l %v");
    spdlog::set_default_logger(std::move(logger));
}

}  // namespace host::config
