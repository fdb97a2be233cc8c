#pragma once
// Short lines to the machine's console, which the host keeps in a bounded file. Never a terminal
// that belongs to someone else, and never waits for it.

#include <string_view>

namespace guest_agent {

// Writes "capsule: <line>\n" to /dev/console; silently nothing where that cannot be opened.
void say(std::string_view line);

}  // namespace guest_agent
