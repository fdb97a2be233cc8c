#pragma once
// The request of `mt exec`, checked before anything is sent.

#include "sdk/cpp/documents.hpp"
#include "sdk/mt/arguments.hpp"

namespace mt {

// invalid_argument for what JSON cannot carry (bytes that are not UTF-8) and for bad options.
// Terminal and input are left to the caller.
Result<sdk::ExecRequest> make_exec_request(const Arguments& arguments);

}  // namespace mt
