#pragma once
// Where other programs of the project are.

#include <string>

namespace mt {

// capsuled next to mt, in PATH, in /usr/sbin or /usr/libexec/capsuled; "" when it is nowhere.
std::string find_daemon();

// images/build.sh of the source tree that mt was built in, else the installed one; "" when there is
// neither.
std::string find_image_builder();

// capsule-agent of the same build or the installed one; "" when there is neither.
std::string find_agent();

// This very file.
std::string own_program();

}  // namespace mt
