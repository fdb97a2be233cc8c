#pragma once
// Lexer: .mtr text to tokens with positions. Expects valid UTF-8 (the caller checks); skips a BOM,
// blanks and // comments; CRLF and LF both end a line. Never throws, never fails: a malformed piece
// is added to the findings and becomes a token of kind `bad`.

#include "host/definition/findings.hpp"

#include <cstdint>
#include <string>
#include <string_view>

namespace host::definition {

inline constexpr std::string_view byte_order_mark = "\xEF\xBB\xBF";

struct Token {
    enum class Kind : std::uint8_t {
        end,
        line_end,
        identifier,
        string,
        integer,
        equals,
        comma,
        at_sign,
        list_open,
        list_close,
        object_open,
        object_close,
        paren_open,
        paren_close,
        bad,  // already reported
    };
    Kind kind = Kind::end;
    Position at;
    std::string text;  // identifier; decoded string
    std::int64_t number = 0;
};

// "a string", "the end of the line", "'='": for messages that name what was found.
std::string describe(const Token& token);

class Lexer {
  public:
    Lexer(std::string_view text, Findings& findings);
    Token next();

  private:
    bool at_end() const { return offset_ >= text_.size(); }
    char peek(std::size_t ahead = 0) const;
    void advance();
    void skip_blanks_and_comments();
    Token identifier(Token token);
    Token integer(Token token);
    Token string(Token token);
    bool escape(std::string& out);
    bool unicode_escape(std::string& out);
    bool hex_unit(std::uint32_t& unit);
    Token bad(Token token, std::string message);

    std::string_view text_;
    std::size_t offset_ = 0;
    Position position_;
    Findings& findings_;
};

}  // namespace host::definition
