#include "host/definition/lexer.hpp"

#include "protocol/base/name.hpp"

#include <charconv>

namespace host::definition {

namespace {

bool is_letter(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}
bool is_digit(char c) {
    return c >= '0' && c <= '9';
}
bool is_word(char c) {
    return is_letter(c) || is_digit(c) || c == '-';
}
bool is_continuation(char c) {
    return (static_cast<unsigned char>(c) & 0xC0u) == 0x80u;
}

void append_utf8(std::uint32_t point, std::string& out) {
    auto put = [&out](std::uint32_t byte) { out.push_back(static_cast<char>(byte)); };
    if (point < 0x80) {
        put(point);
    } else if (point < 0x800) {
        put(0xC0 | (point >> 6));
        put(0x80 | (point & 0x3F));
    } else if (point < 0x10000) {
        put(0xE0 | (point >> 12));
        put(0x80 | ((point >> 6) & 0x3F));
        put(0x80 | (point & 0x3F));
    } else {
        put(0xF0 | (point >> 18));
        put(0x80 | ((point >> 12) & 0x3F));
        put(0x80 | ((point >> 6) & 0x3F));
        put(0x80 | (point & 0x3F));
    }
}

}  // namespace

std::string describe(const Token& token) {
    switch (token.kind) {
        case Token::Kind::end:
            return "the end of the file";
        case Token::Kind::line_end:
            return "the end of the line";
        case Token::Kind::identifier:
            return "'" + protocol::escape_foreign(token.text, 60) + "'";
        case Token::Kind::string:
            return "the string \"" + protocol::escape_foreign(token.text, 60) + "\"";
        case Token::Kind::integer:
            return "the number " + std::to_string(token.number);
        case Token::Kind::equals:
            return "'='";
        case Token::Kind::comma:
            return "','";
        case Token::Kind::at_sign:
            return "'@'";
        case Token::Kind::list_open:
            return "'['";
        case Token::Kind::list_close:
            return "']'";
        case Token::Kind::object_open:
            return "'{'";
        case Token::Kind::object_close:
            return "'}'";
        case Token::Kind::paren_open:
            return "'('";
        case Token::Kind::paren_close:
            return "')'";
        case Token::Kind::bad:
            return "something unreadable";
    }
    return "something unreadable";
}

Lexer::Lexer(std::string_view text, Findings& findings) : text_(text), findings_(findings) {
    if (text_.starts_with(byte_order_mark)) offset_ = byte_order_mark.size();
}

char Lexer::peek(std::size_t ahead) const {
    return offset_ + ahead < text_.size() ? text_[offset_ + ahead] : '\0';
}

// One code point further.
void Lexer::advance() {
    if (text_[offset_] == '\n') {
        ++position_.line;
        position_.column = 1;
        ++offset_;
        return;
    }
    ++offset_;
    while (!at_end() && is_continuation(text_[offset_])) ++offset_;
    ++position_.column;
}

void Lexer::skip_blanks_and_comments() {
    while (!at_end()) {
        const char c = peek();
        if (c == ' ' || c == '\t' || (c == '\r' && peek(1) == '\n')) {
            advance();
        } else if (c == '/' && peek(1) == '/') {
            while (!at_end() && peek() != '\n') advance();
        } else {
            return;
        }
    }
}

Token Lexer::bad(Token token, std::string message) {
    findings_.add(token.at, "", std::move(message));
    token.kind = Token::Kind::bad;
    return token;
}

Token Lexer::next() {
    skip_blanks_and_comments();
    Token token;
    token.at = position_;
    if (at_end()) return token;

    const char c = peek();
    if (c == '"') return string(std::move(token));
    if (is_letter(c)) return identifier(std::move(token));
    if (is_digit(c) || c == '-') return integer(std::move(token));

    const auto single = [&](Token::Kind kind) {
        token.kind = kind;
        advance();
        return token;
    };
    switch (c) {
        case '\n':
            return single(Token::Kind::line_end);
        case '=':
            return single(Token::Kind::equals);
        case ',':
            return single(Token::Kind::comma);
        case '@':
            return single(Token::Kind::at_sign);
        case '[':
            return single(Token::Kind::list_open);
        case ']':
            return single(Token::Kind::list_close);
        case '{':
            return single(Token::Kind::object_open);
        case '}':
            return single(Token::Kind::object_close);
        case '(':
            return single(Token::Kind::paren_open);
        case ')':
            return single(Token::Kind::paren_close);
        default:
            break;
    }
    const std::size_t start = offset_;
    advance();
    const std::string_view seen = text_.substr(start, offset_ - start);
    if (c == '\'') {
        while (!at_end() && peek() != '\n' && peek() != '\'') advance();
        if (peek() == '\'') advance();
        return bad(std::move(token), "strings are written in double quotes");
    }
    if (c == '#' || c == '/') return bad(std::move(token), "comments begin with //");
    return bad(std::move(token), "unexpected character '" + protocol::escape_foreign(seen) + "'");
}

Token Lexer::identifier(Token token) {
    const std::size_t start = offset_;
    while (!at_end() && is_word(peek())) advance();
    token.kind = Token::Kind::identifier;
    token.text = text_.substr(start, offset_ - start);
    return token;
}

Token Lexer::integer(Token token) {
    const std::size_t start = offset_;
    advance();
    while (!at_end() && (is_word(peek()) || peek() == '.' || peek() == '+')) advance();
    const std::string_view digits = text_.substr(start, offset_ - start);
    const std::string_view magnitude = digits.starts_with('-') ? digits.substr(1) : digits;
    const auto [stop, error] =
        std::from_chars(digits.data(), digits.data() + digits.size(), token.number);
    const bool leading_zero = magnitude.size() > 1 && magnitude.front() == '0';
    if (error != std::errc{} || stop != digits.data() + digits.size() || leading_zero) {
        return bad(std::move(token),
                   "'" + protocol::escape_foreign(digits, 60) + "' is not a whole number");
    }
    token.kind = Token::Kind::integer;
    return token;
}

Token Lexer::string(Token token) {
    advance();
    while (true) {
        if (at_end() || peek() == '\n') {
            return bad(std::move(token), "the string has no closing quote on its line");
        }
        const char c = peek();
        if (c == '"') {
            advance();
            token.kind = Token::Kind::string;
            return token;
        }
        if (c == '\\') {
            if (!escape(token.text)) {
                // Already reported; skip to the closing quote so that the rest can be checked too.
                while (!at_end() && peek() != '\n' && peek() != '"') {
                    const bool escaped = peek() == '\\' && (peek(1) == '"' || peek(1) == '\\');
                    advance();
                    if (escaped) advance();
                }
                if (!at_end() && peek() == '"') advance();
                token.kind = Token::Kind::bad;
                return token;
            }
            continue;
        }
        if (static_cast<unsigned char>(c) < 0x20 && !(c == '\r' && peek(1) == '\n')) {
            findings_.add(
                position_, "",
                "control characters in strings are written as escapes, such as \\n or \\t");
            advance();
            token.kind = Token::Kind::bad;
            continue;
        }
        const std::size_t start = offset_;
        advance();
        token.text.append(text_.substr(start, offset_ - start));
    }
}

// At a backslash; appends what it stands for.
bool Lexer::escape(std::string& out) {
    const Position at = position_;
    advance();
    const char c = peek();
    if (c == 'u') {
        if (unicode_escape(out)) return true;
        findings_.add(at, "", "\\u needs four hexadecimal digits, and surrogates come in pairs");
        return false;
    }
    constexpr std::string_view names = "\"\\/bfnrt";
    constexpr std::string_view values = "\"\\/\b\f\n\r\t";
    const std::size_t index = at_end() ? std::string_view::npos : names.find(c);
    if (index == std::string_view::npos) {
        findings_.add(at, "", "unknown escape in a string; a backslash itself is written as \\\\");
        return false;
    }
    out.push_back(values[index]);
    advance();
    return true;
}

// At the `u`.
bool Lexer::unicode_escape(std::string& out) {
    std::uint32_t unit = 0;
    if (!hex_unit(unit)) return false;
    if (unit >= 0xDC00 && unit <= 0xDFFF) return false;
    if (unit >= 0xD800 && unit <= 0xDBFF) {
        if (peek() != '\\' || peek(1) != 'u') return false;
        advance();
        std::uint32_t low = 0;
        if (!hex_unit(low) || low < 0xDC00 || low > 0xDFFF) return false;
        unit = 0x10000 + ((unit - 0xD800) << 10) + (low - 0xDC00);
    }
    append_utf8(unit, out);
    return true;
}

bool Lexer::hex_unit(std::uint32_t& unit) {
    advance();
    unit = 0;
    for (int i = 0; i < 4; ++i) {
        const char c = peek();
        std::uint32_t digit = 0;
        if (is_digit(c)) {
            digit = static_cast<std::uint32_t>(c - '0');
        } else if (c >= 'a' && c <= 'f') {
            digit = static_cast<std::uint32_t>(c - 'a' + 10);
        } else if (c >= 'A' && c <= 'F') {
            digit = static_cast<std::uint32_t>(c - 'A' + 10);
        } else {
            return false;
        }
        unit = unit * 16 + digit;
        advance();
    }
    return true;
}

}  // namespace host::definition
