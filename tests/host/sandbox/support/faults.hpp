#pragma once
// Faults: makes the N-th call to any fake fail.

#include "protocol/base/result.hpp"

#include <optional>
#include <string>
#include <vector>

namespace host::sandbox {

struct Faults {
    std::size_t fail_at = 0;  // 0: never; counts from 1
    std::vector<std::string> calls;

    protocol::Result<void> step(std::string call) {
        calls.push_back(std::move(call));
        if (calls.size() != fail_at) return {};
        return protocol::fail(protocol::Kind::io, "fault in " + calls.back());
    }
};

}  // namespace host::sandbox
