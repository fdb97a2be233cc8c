#pragma once
// The structs on the wire by name, each once, for the tests that look at all of them.

#include "protocol/wire/messages.hpp"

#include <string_view>

namespace protocol::test {

template <typename Visit>
void for_each_message(Visit visit) {
    visit(HelloLimits(), "HelloLimits");
    visit(Hello(), "Hello");
    visit(EnvironmentEntry(), "EnvironmentEntry");
    visit(TerminalSize(), "TerminalSize");
    visit(CommandStart(), "CommandStart");
    visit(CommandReference(), "CommandReference");
    visit(CommandFollow(), "CommandFollow");
    visit(CommandInput(), "CommandInput");
    visit(CommandSignal(), "CommandSignal");
    visit(CommandResize(), "CommandResize");
    visit(MachineConfigure(), "MachineConfigure");
    visit(ClockSet(), "ClockSet");
    visit(Mount(), "Mount");
    visit(SecretWrite(), "SecretWrite");
    visit(Settle(), "Settle");
    visit(Tunnel(), "Tunnel");
    visit(CommandStarted(), "CommandStarted");
    visit(OutputReport(), "OutputReport");
    visit(CommandReport(), "CommandReport");
    visit(OutputGap(), "OutputGap");
    visit(InputTaken(), "InputTaken");
    visit(RemoteFailure(), "RemoteFailure");
    visit(Done(), "Done");
    visit(PowerNotice(), "PowerNotice");
}

}  // namespace protocol::test
