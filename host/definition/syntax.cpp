#include "host/definition/syntax.hpp"

#include "host/definition/lexer.hpp"
#include "protocol/base/name.hpp"
#include "protocol/base/utf8.hpp"

#include <optional>
#include <utility>

namespace host::definition {

namespace {

using Kind = Token::Kind;

class Parser {
  public:
    Parser(std::string_view text, Findings& findings)
        : lexer_(text, findings), findings_(findings), token_(lexer_.next()) {}

    Object file();

  private:
    void take() { token_ = lexer_.next(); }
    void skip_line_ends() {
        while (token_.kind == Kind::line_end) take();
    }
    void expected(std::string_view what);
    void recover();
    bool add(Object& object, Entry entry);

    std::optional<Entry> entry(std::size_t depth);
    std::optional<Value> value(std::size_t depth);
    std::optional<Value> list(std::size_t depth);
    std::optional<Value> object(std::size_t depth);
    std::optional<Value> reference();

    Lexer lexer_;
    Findings& findings_;
    Token token_;
};

void Parser::expected(std::string_view what) {
    if (token_.kind == Kind::bad) return;  // the lexer has said it
    findings_.add(token_.at, "", "expected " + std::string(what) + ", found " + describe(token_));
}

// To the next word in the first column: nested entries are indented, so this is most likely the
// next assignment of the file.
void Parser::recover() {
    while (token_.kind != Kind::end &&
           !(token_.kind == Kind::identifier && token_.at.column == 1)) {
        take();
    }
}

bool Parser::add(Object& object, Entry entry) {
    for (const Entry& other : object) {
        if (other.name != entry.name) continue;
        findings_.add(entry.at, entry.name,
                      "property '" + entry.name + "' is given twice; the first is in line " +
                          std::to_string(other.at.line));
        return false;
    }
    object.push_back(std::move(entry));
    return true;
}

Object Parser::file() {
    Object result;
    while (!findings_.full()) {
        skip_line_ends();
        if (token_.kind == Kind::end) break;
        findings_.set_subject(token_.kind == Kind::identifier ? token_.text : "");
        if (auto read = entry(0)) {
            add(result, std::move(*read));
        } else {
            recover();  // moves on: entry() took its name, or stands at something else than a name
            continue;
        }
        if (token_.kind == Kind::comma) {
            take();
        } else if (token_.kind != Kind::line_end && token_.kind != Kind::end) {
            expected("a line end or ',' after the value");
            recover();
        }
    }
    findings_.set_subject("");
    return result;
}

std::optional<Entry> Parser::entry(std::size_t depth) {
    if (token_.kind != Kind::identifier) {
        expected("the name of a property");
        return std::nullopt;
    }
    Entry result;
    result.name = token_.text;
    result.at = token_.at;
    take();
    if (token_.kind != Kind::equals) {
        expected("'=' after '" + protocol::escape_foreign(result.name, 60) + "'");
        return std::nullopt;
    }
    take();
    skip_line_ends();
    auto read = value(depth);
    if (!read) return std::nullopt;
    result.value = std::move(*read);
    return result;
}

std::optional<Value> Parser::value(std::size_t depth) {
    Value result;
    result.at = token_.at;
    switch (token_.kind) {
        case Kind::string:
            result.data = std::move(token_.text);
            break;
        case Kind::integer:
            result.data = token_.number;
            break;
        case Kind::identifier:
            if (token_.text != "true" && token_.text != "false") {
                expected("a value (strings are written in double quotes)");
                return std::nullopt;
            }
            result.data = token_.text == "true";
            break;
        case Kind::at_sign:
            return reference();
        case Kind::list_open:
        case Kind::object_open:
            if (depth >= limits::depth) {
                findings_.add(token_.at, "",
                              "lists and objects are nested more than " +
                                  std::to_string(limits::depth) + " deep");
                return std::nullopt;
            }
            return token_.kind == Kind::list_open ? list(depth + 1) : object(depth + 1);
        case Kind::end:
        case Kind::line_end:
        case Kind::equals:
        case Kind::comma:
        case Kind::list_close:
        case Kind::object_close:
        case Kind::paren_open:
        case Kind::paren_close:
        case Kind::bad:
            expected("a value");
            return std::nullopt;
    }
    take();
    return result;
}

std::optional<Value> Parser::list(std::size_t depth) {
    Value result;
    result.at = token_.at;
    List items;
    take();
    skip_line_ends();
    while (token_.kind != Kind::list_close) {
        auto item = value(depth);
        if (!item) return std::nullopt;
        items.push_back(std::move(*item));
        bool separated = token_.kind == Kind::line_end;
        skip_line_ends();
        if (token_.kind == Kind::comma) {
            take();
            skip_line_ends();
            separated = true;
        }
        if (!separated && token_.kind != Kind::list_close) {
            expected("',', a line end or ']' after the item");
            return std::nullopt;
        }
    }
    take();
    result.data = std::move(items);
    return result;
}

// Between the entries of an object a line end or a comma may be left out: the name and its '=' show
// where the next one begins.
std::optional<Value> Parser::object(std::size_t depth) {
    Value result;
    result.at = token_.at;
    Object entries;
    take();
    skip_line_ends();
    while (token_.kind != Kind::object_close) {
        auto read = entry(depth);
        if (!read) return std::nullopt;
        add(entries, std::move(*read));
        skip_line_ends();
        if (token_.kind == Kind::comma) {
            take();
            skip_line_ends();
        } else if (token_.kind != Kind::identifier && token_.kind != Kind::object_close) {
            expected("',', a line end or '}' after the value");
            return std::nullopt;
        }
    }
    take();
    result.data = std::move(entries);
    return result;
}

std::optional<Value> Parser::reference() {
    Value result;
    result.at = token_.at;
    constexpr std::string_view form =
        "a reference is written @ref(\"name\") or @ref(\"namespace.name\")";
    const auto malformed = [&]() -> std::optional<Value> {
        if (token_.kind != Kind::bad) findings_.add(result.at, "", std::string(form));
        return std::nullopt;
    };
    take();
    if (token_.kind != Kind::identifier || token_.text != "ref") return malformed();
    take();
    if (token_.kind != Kind::paren_open) return malformed();
    take();
    if (token_.kind != Kind::string) return malformed();
    result.data = Reference{std::move(token_.text)};
    take();
    if (token_.kind != Kind::paren_close) return malformed();
    take();
    return result;
}

// Where the first ill-formed byte stands.
Position first_invalid(std::string_view text) {
    Position position;
    if (text.starts_with(byte_order_mark)) text.remove_prefix(byte_order_mark.size());
    while (const std::size_t size = protocol::utf8_sequence(text)) {
        ++position.column;
        if (text.front() == '\n') {
            ++position.line;
            position.column = 1;
        }
        text.remove_prefix(size);
    }
    return position;
}

}  // namespace

Object parse_syntax(std::string_view text, Findings& findings) {
    if (text.size() > limits::text_bytes) {
        Position whole_file;
        whole_file.line = whole_file.column = 0;
        findings.add(whole_file, "",
                     "the file is larger than " + std::to_string(limits::text_bytes) + " bytes");
        return {};
    }
    if (!protocol::is_valid_utf8(text)) {
        findings.add(first_invalid(text), "", "the file is not UTF-8 here");
        return {};
    }
    return Parser(text, findings).file();
}

std::string_view type_name(const Value& value) {
    switch (value.data.index()) {
        case 0:
            return "a string";
        case 1:
            return "a number";
        case 2:
            return "true or false";
        case 3:
            return "a reference";
        case 4:
            return "a list";
        case 5:
            return "an object";
        default:
            return "nothing";
    }
}

}  // namespace host::definition
