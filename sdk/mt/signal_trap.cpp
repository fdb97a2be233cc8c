#include "sdk/mt/signal_trap.hpp"

#include <atomic>

namespace mt {
namespace {

// A signal handler has no argument of ours: the one place in mt with global state.
std::atomic<const sdk::Interrupt*> active{nullptr};
std::atomic<int> arrived{0};
static_assert(std::atomic<int>::is_always_lock_free);

void handle(int) {
    arrived.fetch_add(1);
    if (const sdk::Interrupt* interrupt = active.load()) interrupt->raise();
}

}  // namespace

SignalTrap::SignalTrap(std::initializer_list<int> signals) {
    arrived.store(0);
    active.store(&interrupt_);
    for (const int signal : signals) {
        struct sigaction action {
        }, old{};
        action.sa_handler = handle;
        ::sigemptyset(&action.sa_mask);
        ::sigaction(signal, &action, &old);
        // One that our caller ignores (nohup, a background job) stays ignored.
        if (old.sa_handler == SIG_IGN) {
            ::sigaction(signal, &old, nullptr);
        } else {
            before_.emplace_back(signal, old);
        }
    }
}

SignalTrap::~SignalTrap() {
    for (const auto& [signal, old] : before_) ::sigaction(signal, &old, nullptr);
    active.store(nullptr);
}

int SignalTrap::count() const {
    return arrived.load();
}

}  // namespace mt
