#include "sdk/mt/run_watcher.hpp"

#include <cstdio>

namespace mt {

RunWatcher::RunWatcher(const sdk::Settings& settings, std::function<void(const std::string&)> print)
    : settings_(settings.woken_by(&stop_)),
      events_(settings_),
      print_(std::move(print)),
      began_(std::chrono::steady_clock::now()) {
    open_ = events_.open("").has_value();
}

RunWatcher::~RunWatcher() {
    stop_.raise();
    if (thread_.joinable()) thread_.join();
}

void RunWatcher::watch(const std::string& run) {
    if (open_) thread_ = std::thread([this, run] { listen(run); });
}

void RunWatcher::listen(const std::string& run) {
    sdk::Client client(settings_);
    for (;;) {
        // Events are only the bell; what counts is the run itself.
        const auto state = client.run(run);
        if (!state) return;
        show(*state);
        if (state->has_ended()) return;
        for (;;) {
            const auto event = events_.next();
            if (!event) return;
            if (event->data.find(run) != std::string::npos) break;
        }
    }
}

void RunWatcher::show(const sdk::Run& run) {
    std::string now = run.status;
    if (!run.has_started() && !run.phase.empty() && run.phase != "none") now += ": " + run.phase;
    if (now == shown_) return;
    shown_ = now;
    const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - began_;
    char time[32];
    std::snprintf(time, sizeof time, "[%5.1f s] ", elapsed.count());
    print_(time + now);
}

}  // namespace mt
