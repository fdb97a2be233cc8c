#include "host/egress/proxy/decision_log.hpp"

#include "host/egress/proxy/limits.hpp"
#include "protocol/base/name.hpp"

#include <algorithm>

#include <spdlog/spdlog.h>

namespace host::egress {

bool DecisionLog::admits(const std::string& run, Clock::time_point now) {
    const auto [found, is_new] = budgets_.try_emplace(run);
    Budget& budget = found->second;
    if (is_new) budget.lines = limits::log_burst;
    const double passed = is_new ? 0 : std::chrono::duration<double>(now - budget.at).count();
    budget.at = now;
    budget.lines =
        std::min(limits::log_burst, budget.lines + passed * limits::log_lines_per_second);
    if (budget.lines < 1) {
        ++budget.left_out;
        return false;
    }
    budget.lines -= 1;
    report_left_out(run, budget);
    return true;
}

void DecisionLog::report_left_out(const std::string& run, Budget& budget) {
    if (budget.left_out == 0) return;
    spdlog::warn("egress decisions not logged run={} count={}", run, budget.left_out);
    budget.left_out = 0;
}

void DecisionLog::allowed(const std::string& run, const Target& target, std::string_view address) {
    if (!admits(run, Clock::now())) return;
    spdlog::info("egress allowed run={} method={} host={} port={} address={}", run,
                 protocol::escape_foreign(target.method, 32), target.host, target.port, address);
}

void DecisionLog::refused(const std::string& run, std::string_view method, std::string_view where,
                          std::string_view why) {
    if (!admits(run, Clock::now())) return;
    spdlog::info("egress refused run={} method={} target=\"{}\" why=\"{}\"", run,
                 protocol::escape_foreign(method, 32), protocol::escape_foreign(where),
                 protocol::escape_foreign(why));
}

void DecisionLog::forget(const std::string& run) {
    const auto found = budgets_.find(run);
    if (found == budgets_.end()) return;
    report_left_out(run, found->second);
    budgets_.erase(found);
}

}  // namespace host::egress
