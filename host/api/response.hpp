#pragma once
// Response: a complete answer, or the note that a handler has streamed its answer itself.

#include <string>
#include <utility>
#include <vector>

#include <boost/json/value.hpp>

namespace host::api {

using Fields = std::vector<std::pair<std::string, std::string>>;

class Response {
  public:
    explicit Response(unsigned code) : status(code) {}
    static Response json(unsigned status, const boost::json::value& value);
    static Response text(std::string body);
    // The handler has sent everything; the connection may go on / must be closed.
    static Response sent();
    static Response cut();

    unsigned status;
    Fields fields;
    std::string body;
    enum class State : std::uint8_t { complete, sent, cut } state = State::complete;
};

// Status line and fields, with the empty line that ends them.
std::string write_head(unsigned status, const Fields& fields);

}  // namespace host::api
