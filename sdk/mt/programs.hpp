#pragma once
// Where other programs of the project are.

#include <string>

namespace mt {

// capsuled next to mt, in PATH, in /usr/sbin or /usr/libexec/capsuled; "" when it is nowhere.
std::string find_daemon();

}  // namespace mt
