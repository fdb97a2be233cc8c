#include "protocol/text/shell_text.hpp"

#include <vector>

namespace protocol {
namespace {

constexpr std::string_view white_space = " \t\r\n\v\f";

// What encloses the current position. A text is complete when only `command` is left.
enum class Inside : char { command, double_quotes, substitution, parameter, backquotes };

class Scanner {
  public:
    explicit Scanner(std::string_view text) : text_(text) {}

    // Why no arguments can follow the text, or "" when they can.
    std::string_view obstacle() {
        while (at_ < text_.size()) {
            if (!step()) return "leaves a quote open";
        }
        if (comment_) return "ends in a comment";
        if (escaped_end_) return "ends in a backslash";
        if (here_document_) return "holds a here-document";
        if (inside_.size() != 1) return "leaves a quote or bracket open";
        if (last_operator_ == ';') return "ends in ';'";
        if (last_operator_ == '&') return "ends in '&'";
        return {};
    }

  private:
    // Looks at one character or one quoted run. False: a single-quoted run never ends.
    bool step() {
        const char c = text_[at_];
        if (comment_) {
            comment_ = c != '\n';
            previous_ = c;
            ++at_;
            return true;
        }
        last_operator_ = '\0';
        if (c == '\\') {
            escaped_end_ = at_ + 1 == text_.size();
            return advance(2, 'x');
        }
        if (c == '$' && at_ + 1 < text_.size() && text_[at_ + 1] == '(')
            return enter(Inside::substitution, 2);
        if (c == '$' && at_ + 1 < text_.size() && text_[at_ + 1] == '{')
            return enter(Inside::parameter, 2);
        if (c == '`')
            return inside_.back() == Inside::backquotes ? leave() : enter(Inside::backquotes, 1);
        if (c == '"') {
            return inside_.back() == Inside::double_quotes ? leave()
                                                           : enter(Inside::double_quotes, 1);
        }
        if (inside_.back() == Inside::double_quotes) return advance(1, 'x');
        if (c == '\'') return single_quotes(previous_ == '$');
        if (inside_.back() == Inside::parameter) return c == '}' ? leave() : advance(1, 'x');
        return plain(c);
    }

    bool plain(char c) {
        if (c == '(') return enter(Inside::substitution, 1);
        if (c == ')' && inside_.back() == Inside::substitution) return leave();
        if (c == '#' && starts_word()) comment_ = true;
        if (c == '<' && next_is('<')) {
            // `<<<` is a here-string: a word on the same line, no obstacle.
            const bool here_string = at_ + 2 < text_.size() && text_[at_ + 2] == '<';
            here_document_ = here_document_ || !here_string;
            return advance(here_string ? 3 : 2, '<');
        }
        // `>&` and `<&` are redirections and `&&` a list operator; each is followed by something.
        const bool list_end = c == '&' && previous_ != '&' && previous_ != '>' && previous_ != '<';
        if (c == ';' || list_end) last_operator_ = c;
        return advance(1, c);
    }

    bool single_quotes(bool ansi) {
        std::size_t end = at_ + 1;
        while (end < text_.size() && text_[end] != '\'') end += ansi && text_[end] == '\\' ? 2 : 1;
        if (end >= text_.size()) return false;
        return advance(end + 1 - at_, 'x');
    }

    bool enter(Inside what, std::size_t length) {
        inside_.push_back(what);
        return advance(length, '(');
    }
    bool leave() {
        inside_.pop_back();
        return advance(1, 'x');
    }
    bool advance(std::size_t count, char previous) {
        at_ += count;
        previous_ = previous;
        return true;
    }
    bool next_is(char c) const { return at_ + 1 < text_.size() && text_[at_ + 1] == c; }
    bool starts_word() const {
        return std::string_view(" \t\r\n;&|()<>").find(previous_) != std::string_view::npos;
    }

    std::string_view text_;
    std::size_t at_ = 0;
    std::vector<Inside> inside_{Inside::command};
    char previous_ = '\n';
    char last_operator_ = '\0';
    bool comment_ = false;
    bool escaped_end_ = false;
    bool here_document_ = false;
};

}  // namespace

Result<std::string> prepare_shell_text(std::string_view text, ShellArguments arguments) {
    if (text.find('\0') != std::string_view::npos) {
        return fail(Kind::invalid_argument, "the command contains a NUL byte");
    }
    const auto last = text.find_last_not_of(white_space);
    if (last == std::string_view::npos) return fail(Kind::invalid_argument, "the command is empty");
    const std::string_view cut = text.substr(0, last + 1);
    if (arguments == ShellArguments::none) return std::string(cut);
    if (const auto why = Scanner(cut).obstacle(); !why.empty()) {
        return fail(
            Kind::invalid_argument,
            "the command " + std::string(why) +
                ", so arguments cannot follow it: use sh with the arguments -c and the text");
    }
    return std::string(cut) + " \"$@\"";
}

}  // namespace protocol
