#pragma once
// Identities as types: a RunId cannot be passed where a CommandId is meant, and an invalid one
// cannot exist.

#include "protocol/base/result.hpp"

#include <compare>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

namespace protocol {

// A lower-case RFC 9562 UUID in text form, 36 characters.
template <typename Tag>
class Uuid {
  public:
    static Result<Uuid> parse(std::string_view text);
    static Uuid random();  // version 4, from getrandom(2)

    const std::string& str() const { return text_; }
    auto operator<=>(const Uuid&) const = default;

  private:
    explicit Uuid(std::string text) : text_(std::move(text)) {}
    std::string text_;
};

using RunId = Uuid<struct RunTag>;
using CommandId = Uuid<struct CommandTag>;
using InstallationId = Uuid<struct InstallationTag>;
using BootId = Uuid<struct BootTag>;  // one start of one agent

extern template class Uuid<struct RunTag>;
extern template class Uuid<struct CommandTag>;
extern template class Uuid<struct InstallationTag>;
extern template class Uuid<struct BootTag>;

// A stream on the host link. 0 is the connection itself; host-opened ids are even, guest-opened
// odd.
enum class StreamId : std::uint32_t { connection = 0 };

}  // namespace protocol

template <typename Tag>
struct std::hash<protocol::Uuid<Tag>> {
    std::size_t operator()(const protocol::Uuid<Tag>& id) const noexcept {
        return std::hash<std::string>{}(id.str());
    }
};
