// mt image.

#include "sdk/mt/context.hpp"
#include "sdk/mt/handlers.hpp"
#include "sdk/mt/programs.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <unistd.h>

namespace mt {
namespace {

using protocol::fail;
using protocol::Failure;
using protocol::Kind;
namespace json = boost::json;

std::string text_of(const json::object& object, std::string_view name) {
    const auto* value = object.if_contains(name);
    const auto* text = value != nullptr ? value->if_string() : nullptr;
    return text != nullptr ? std::string(*text) : std::string();
}

bool is_set(const json::object& object, std::string_view name) {
    const auto* value = object.if_contains(name);
    return value != nullptr && value->is_bool() && value->get_bool();
}

std::vector<json::object> objects_of(const json::object& object, std::string_view name) {
    std::vector<json::object> objects;
    const auto* value = object.if_contains(name);
    if (value == nullptr || !value->is_array()) return objects;
    for (const auto& item : value->get_array()) {
        if (item.is_object()) objects.push_back(item.get_object());
    }
    return objects;
}

// "2.1 GiB"
std::string size_of(const json::object& object, std::string_view name) {
    const auto* value = object.if_contains(name);
    boost::system::error_code error;
    const auto bytes = value != nullptr ? value->to_number<std::uint64_t>(error) : 0;
    if (value == nullptr || error) return "";
    constexpr double mebibyte = 1u << 20;
    const double size = static_cast<double>(bytes) / mebibyte;
    std::array<char, 32> text{};
    std::snprintf(text.data(), text.size(), size < 1024 ? "%.0f MiB" : "%.1f GiB",
                  size < 1024 ? size : size / 1024);
    return text.data();
}

std::string state_of(const json::object& image) {
    if (!text_of(image, "problem").empty()) return "unusable";
    if (is_set(image, "default")) return "default";
    return is_set(image, "current") ? "current" : "old";
}

std::string missing_in(const json::object& image) {
    std::string names;
    for (const auto& gap : objects_of(image, "missing")) {
        names += (names.empty() ? "" : ", ") + text_of(gap, "name");
    }
    return names;
}

}  // namespace

Result<int> list_images(Context& context) {
    TRY(const auto images, context.client().images());
    if (context.json()) {
        context.print_json(images);
        return exit_success;
    }
    Table table({"NAME", "VERSION", "STATE", "CREATED", "SIZE", "MISSING"});
    for (const auto& item : images) {
        if (!item.is_object()) continue;
        const auto& image = item.get_object();
        table.add({text_of(image, "name"), text_of(image, "version"), state_of(image),
                   text_of(image, "createdAt"), size_of(image, "fileBytes"), missing_in(image)});
        if (const auto problem = text_of(image, "problem"); !problem.empty()) {
            context.note(text_of(image, "version") + " cannot be used: " + problem);
        }
    }
    context.print_table(table);
    return exit_success;
}

Result<int> show_image(Context& context) {
    TRY(const auto image, context.client().image(context.arguments().positional(0)));
    if (context.json()) {
        context.print_json(image);
        return exit_success;
    }
    const auto line = [&context](const std::string& title, const std::string& text) {
        context.print_foreign(title + ": " + text + "\n");
    };
    line("name", text_of(image, "name"));
    line("version", text_of(image, "version") + " (" + state_of(image) + ")");
    line("created", text_of(image, "createdAt"));
    line("system", "Debian " + text_of(image, "debianVersion"));
    line("disk", size_of(image, "diskBytes") + ", " + size_of(image, "fileBytes") + " of it used");
    for (const auto& archive : objects_of(image, "archives")) {
        line("not from Debian", text_of(archive, "name") + " " + text_of(archive, "version") +
                                    " (" + text_of(archive, "what") + ")");
    }
    for (const auto& gap : objects_of(image, "missing")) {
        line("MISSING",
             text_of(gap, "name") + " (" + text_of(gap, "what") + "): " + text_of(gap, "reason"));
    }
    const auto packages = objects_of(image, "packages");
    if (!context.arguments().has("packages")) {
        line("packages", std::to_string(packages.size()) + " (--packages lists them)");
        return exit_success;
    }
    Table table({"PACKAGE", "VERSION"});
    for (const auto& package : packages) {
        table.add({text_of(package, "name"), text_of(package, "version")});
    }
    context.print_table(table);
    return exit_success;
}

Result<int> build_image(Context& context) {
    if (context.environment().is_inside_capsule()) {
        context.note("this is the inside of a capsule; images are built on the host that runs it");
        return exit_negative;
    }
    const std::string builder = find_image_builder();
    if (builder.empty()) {
        return fail(Kind::not_found,
                    "images/build.sh is neither in the source tree of mt nor in "
                    "/usr/share/capsule-host");
    }
    const std::string& profile = context.arguments().positional(0);
    const auto& rest = context.arguments().rest();
    std::vector<std::string> words{builder, profile};
    // The initrd holds the agent and mt of this version, unless others are asked for.
    const bool has_initrd = profile == "initrd" || profile == "all";
    if (has_initrd && std::ranges::find(rest, "--agent") == rest.end()) {
        const std::string agent = find_agent();
        if (agent.empty()) {
            return fail(Kind::not_found,
                        "capsule-agent is neither next to mt nor in /usr/lib/capsule-host; name it "
                        "with -- --agent FILE");
        }
        words.insert(words.end(), {"--agent", agent});
    }
    if (has_initrd && std::ranges::find(rest, "--mt") == rest.end()) {
        words.insert(words.end(), {"--mt", own_program()});
    }
    if (context.arguments().has("refresh")) words.emplace_back("--refresh");
    words.insert(words.end(), rest.begin(), rest.end());
    std::vector<char*> argv;
    for (std::string& word : words) argv.push_back(word.data());
    argv.push_back(nullptr);
    ::execv(builder.c_str(), argv.data());
    return fail(Failure::from_errno("start " + builder, errno));
}

Result<int> use_image(Context& context) {
    const bool reset = context.arguments().has("reset");
    const std::string image = context.arguments().positional(0);
    if (reset && !image.empty()) {
        return fail(Kind::invalid_argument, "give an IMAGE or --reset, not both");
    }
    json::object space;
    if (reset || !image.empty()) {
        TRY(space, context.client().set_default_image(context.space(), image));
    } else {
        TRY(const auto all, context.client().namespaces());
        const auto found = std::ranges::find_if(
            all, [&context](const sdk::Named& named) { return named.name == context.space(); });
        if (found == all.end()) {
            return fail(Failure::with_code(Kind::not_found, "not-found",
                                           "there is no namespace " + context.space()));
        }
        space = found->document;
    }
    if (context.json()) {
        context.print_json(space);
        return exit_success;
    }
    const std::string chosen = text_of(space, "image");
    context.print_foreign("namespace " + context.space() + ": " +
                          (chosen.empty() ? "the host's default image" : chosen) + "\n");
    return exit_success;
}

Result<int> delete_image(Context& context) {
    TRY(const auto deleted, context.client().delete_image(context.arguments().positional(0)));
    if (context.json()) {
        context.print_json(deleted);
    } else {
        context.print_foreign("Deleted " + text_of(deleted, "version") + "\n");
    }
    return exit_success;
}

}  // namespace mt
