// mt namespace, secret and key, and the parts of vfs that are about whole file systems.

#include "protocol/base/unique_fd.hpp"
#include "sdk/mt/context.hpp"
#include "sdk/mt/handlers.hpp"

#include <array>
#include <fcntl.h>
#include <termios.h>
#include <unistd.h>

namespace mt {
namespace {

using protocol::fail;
using protocol::Failure;
using protocol::Kind;

constexpr std::size_t secret_limit = 64u << 10;

int print_names(Context& context, const std::vector<sdk::Named>& items,
                std::string_view time_title = "CREATED") {
    if (context.json()) {
        boost::json::array documents;
        for (const sdk::Named& item : items) documents.push_back(item.document);
        context.print_json(documents);
        return exit_success;
    }
    Table table({"NAME", std::string(time_title)});
    for (const sdk::Named& item : items) {
        table.add({item.name, item.updated_at.empty() ? item.created_at : item.updated_at});
    }
    context.print_table(table);
    return exit_success;
}

Result<int> print_list(Context& context, Result<std::vector<sdk::Named>> items,
                       std::string_view time_title = "CREATED") {
    if (!items) return fail(std::move(items).error());
    return print_names(context, *items, time_title);
}

Result<int> print_created(Context& context, const Result<sdk::Named>& created) {
    const std::string& name = context.arguments().positional(0);
    const bool exists = !created && created.error().code() == "already-exists";
    if (exists && context.arguments().has("if-missing")) {
        if (!context.json()) context.print_line(name + " exists already");
        return exit_success;
    }
    if (!created) return fail(created.error());
    if (context.json()) {
        context.print_json(created->document);
    } else {
        context.print_line("Created " + name);
    }
    return exit_success;
}

Result<int> done(Result<void> result) {
    if (!result) return fail(std::move(result).error());
    return exit_success;
}

// Everything up to end-of-file.
Result<std::string> read_all(int fd, const std::string& name) {
    std::string bytes;
    std::array<char, 16u << 10> piece;
    for (;;) {
        const ssize_t count = ::read(fd, piece.data(), piece.size());
        if (count < 0 && errno == EINTR) continue;
        if (count < 0) return fail(Failure::from_errno("read " + name, errno));
        if (count == 0) return bytes;
        bytes.append(piece.data(), static_cast<std::size_t>(count));
        if (bytes.size() > secret_limit) {
            return fail(Kind::too_large, "a secret has at most 65536 bytes");
        }
    }
}

// One line from the terminal, not shown.
Result<std::string> ask_hidden(const std::string& name) {
    write_all(STDERR_FILENO, "Value of " + name + " (not shown): ");
    termios before{};
    if (::tcgetattr(STDIN_FILENO, &before) != 0) {
        return fail(Failure::from_errno("tcgetattr", errno));
    }
    termios hidden = before;
    hidden.c_lflag &= ~static_cast<tcflag_t>(ECHO);
    ::tcsetattr(STDIN_FILENO, TCSAFLUSH, &hidden);
    std::array<char, 4096> line;
    const ssize_t count = ::read(STDIN_FILENO, line.data(), line.size());
    ::tcsetattr(STDIN_FILENO, TCSAFLUSH, &before);
    write_all(STDERR_FILENO, "\n");
    if (count <= 0) return fail(Kind::invalid_argument, "no value was given");
    std::string value(line.data(), static_cast<std::size_t>(count));
    if (value.ends_with('\n')) value.pop_back();
    return value;
}

}  // namespace

// ---- namespaces -----------------------------------------------------------------------------

Result<int> create_namespace(Context& context) {
    return print_created(context,
                         context.client().create_namespace(context.arguments().positional(0)));
}

Result<int> list_namespaces(Context& context) {
    return print_list(context, context.client().namespaces());
}

Result<int> delete_namespace(Context& context) {
    return done(context.client().delete_namespace(context.arguments().positional(0)));
}

// ---- VFS ------------------------------------------------------------------------------------

Result<int> create_vfs(Context& context) {
    return print_created(
        context, context.client().create_vfs(context.space(), context.arguments().positional(0)));
}

Result<int> list_vfs(Context& context) {
    return print_list(context, context.client().vfs_list(context.space()));
}

Result<int> delete_vfs(Context& context) {
    return done(context.client().delete_vfs(context.space(), context.arguments().positional(0)));
}

// ---- secrets --------------------------------------------------------------------------------

Result<int> set_secret(Context& context) {
    const std::string& name = context.arguments().positional(0);
    Result<std::string> value;
    if (const std::string file = context.arguments().value("file"); !file.empty()) {
        const protocol::UniqueFd fd(::open(file.c_str(), O_RDONLY | O_CLOEXEC));
        if (!fd) return fail(Failure::from_errno("open " + file, errno));
        value = read_all(fd.get(), file);
    } else if (is_terminal(STDIN_FILENO)) {
        value = ask_hidden(name);
    } else {
        value = read_all(STDIN_FILENO, "standard input");
    }
    if (!value) return fail(std::move(value).error());
    return done(context.client().set_secret(context.space(), name, std::move(*value)));
}

Result<int> list_secrets(Context& context) {
    return print_list(context, context.client().secrets(context.space()), "SET");
}

Result<int> delete_secret(Context& context) {
    return done(context.client().delete_secret(context.space(), context.arguments().positional(0)));
}

// ---- keys -----------------------------------------------------------------------------------

namespace {

std::string member(const boost::json::object& object, std::string_view name) {
    const auto* value = object.if_contains(name);
    const auto* text = value != nullptr ? value->if_string() : nullptr;
    return text != nullptr ? std::string(*text) : std::string();
}

std::string namespaces_of(const boost::json::object& key) {
    const auto* value = key.if_contains("namespaces");
    if (value == nullptr || !value->is_array() || value->get_array().empty()) return "(all)";
    std::string out;
    for (const auto& item : value->get_array()) {
        if (!out.empty()) out += ",";
        if (item.is_string()) out += std::string_view(item.get_string());
    }
    return out;
}

}  // namespace

Result<int> create_key(Context& context) {
    TRY(const auto key, context.client().create_key(context.arguments().positional(0),
                                                    context.arguments().values("for")));
    if (context.json()) {
        context.print_json(key);
    } else {
        context.note("key " + member(key, "id") + "; it is shown this once:");
        context.print_line(member(key, "key"));
    }
    return exit_success;
}

Result<int> list_keys(Context& context) {
    TRY(const auto keys, context.client().keys());
    if (context.json()) {
        context.print_json(keys);
        return exit_success;
    }
    Table table({"ID", "LABEL", "NAMESPACES", "CREATED"});
    for (const auto& item : keys) {
        if (!item.is_object()) continue;
        const auto& key = item.get_object();
        table.add({member(key, "id"), member(key, "label"), namespaces_of(key),
                   member(key, "createdAt")});
    }
    context.print_table(table);
    return exit_success;
}

Result<int> delete_key(Context& context) {
    return done(context.client().delete_key(context.arguments().positional(0)));
}

}  // namespace mt
