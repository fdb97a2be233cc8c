#pragma once
// How mt tells a person about a failure, and which exit code a script gets.

#include "protocol/base/failure.hpp"
#include "sdk/mt/context.hpp"

namespace mt {

int exit_code_of(const protocol::Failure& failure);

// "mt: what went wrong (code)", and for a daemon that does not answer what to do about it.
std::string describe_failure(const protocol::Failure& failure, const Environment& environment);
void report(const protocol::Failure& failure, const Environment& environment);

}  // namespace mt
