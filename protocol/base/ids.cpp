#include "protocol/base/ids.hpp"

#include "protocol/base/name.hpp"

#include <array>
#include <cerrno>
#include <cstdlib>
#include <sys/random.h>

namespace protocol {
namespace {

constexpr std::size_t text_length = 36;

constexpr bool is_dash_position(std::size_t at) {
    return at == 8 || at == 13 || at == 18 || at == 23;
}

bool is_lower_hex(char c) {
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f');
}

bool is_uuid(std::string_view text) {
    if (text.size() != text_length) return false;
    for (std::size_t at = 0; at < text.size(); ++at) {
        if (is_dash_position(at) ? text[at] != '-' : !is_lower_hex(text[at])) return false;
    }
    return true;
}

std::string random_uuid_text() {
    std::array<unsigned char, 16> bytes;
    std::size_t filled = 0;
    while (filled < bytes.size()) {
        const ssize_t got = ::getrandom(bytes.data() + filled, bytes.size() - filled, 0);
        // Only EINTR is possible here; without random ids nothing can go on.
        if (got < 0 && errno != EINTR) std::abort();
        if (got > 0) filled += static_cast<std::size_t>(got);
    }
    bytes[6] = static_cast<unsigned char>((bytes[6] & 0x0F) | 0x40);  // version 4
    bytes[8] = static_cast<unsigned char>((bytes[8] & 0x3F) | 0x80);  // RFC 9562 variant
    constexpr char digits[] = "0123456789abcdef";
    std::string text;
    text.reserve(text_length);
    for (const unsigned char byte : bytes) {
        if (is_dash_position(text.size())) text += '-';
        text += digits[byte >> 4];
        text += digits[byte & 0x0F];
    }
    return text;
}

}  // namespace

template <typename Tag>
Result<Uuid<Tag>> Uuid<Tag>::parse(std::string_view text) {
    if (!is_uuid(text)) {
        return fail(Kind::invalid_argument, "not a lower-case UUID: " + escape_foreign(text, 60));
    }
    return Uuid(std::string(text));
}

template <typename Tag>
Uuid<Tag> Uuid<Tag>::random() {
    return Uuid(random_uuid_text());
}

template class Uuid<struct RunTag>;
template class Uuid<struct CommandTag>;
template class Uuid<struct InstallationTag>;
template class Uuid<struct BootTag>;

}  // namespace protocol
