#pragma once
// RequestParser: one HTTP request out of bytes that arrive in pieces of any size; Boost.Beast's
// parser behind an interface of our own. No I/O. One object per request.

#include "host/api/request_head.hpp"
#include "protocol/base/result.hpp"

#include <memory>
#include <string>

namespace host::api {

class RequestParser {
  public:
    RequestParser();
    ~RequestParser();

    // Takes what belongs to the head off the front of `bytes`; true once it is complete. Fails
    // with invalid-request, headers-too-large or unsupported (a transfer coding other than
    // chunked).
    protocol::Result<bool> parse_head(std::string& bytes);
    const RequestHead& head() const { return head_; }

    // After the head: takes the body's next bytes off the front of `bytes` and returns what they
    // carry, at most `limit` bytes; "" when more is needed or the body is done.
    protocol::Result<std::string> parse_body(std::string& bytes, std::size_t limit);
    bool done() const;

  private:
    struct Impl;
    std::unique_ptr<Impl> impl_;
    RequestHead head_;
};

}  // namespace host::api
