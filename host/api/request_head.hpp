#pragma once
// The head of a request, free of the HTTP library's types.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace host::api {

struct RequestHead {
    RequestHead() = default;
    std::string method;  // as sent: "GET"
    std::string target;
    std::vector<std::pair<std::string, std::string>> fields;  // as sent, in order
    unsigned version = 11;
    bool keep_alive = true;
    bool upgrade = false;  // asks for a WebSocket
    bool chunked = false;
    bool expects_continue = false;
    std::optional<std::uint64_t> content_length;

    // The only field of that name, letter case ignored; nullptr when absent or repeated.
    const std::string* field(std::string_view name) const;
};

}  // namespace host::api
