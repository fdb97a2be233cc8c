// mt doctor, host and version.

#include "sdk/mt/context.hpp"
#include "sdk/mt/handlers.hpp"
#include "sdk/mt/programs.hpp"

#include <cstring>
#include <unistd.h>

#include <boost/json/serialize.hpp>

namespace mt {

using protocol::fail;
using protocol::Failure;
using protocol::Kind;

Result<int> run_doctor(Context& context) {
    if (context.environment().is_inside_capsule()) {
        context.note("this is the inside of a capsule; `mt doctor` looks at the host that runs it");
        return exit_negative;
    }
    const std::string program = find_daemon();
    if (program.empty()) {
        return fail(
            Kind::not_found,
            "capsuled is not next to mt, in PATH, in /usr/sbin or in /usr/libexec/capsuled");
    }
    std::vector<std::string> words{program, "doctor"};
    if (context.json()) words.emplace_back("--json");
    const auto& rest = context.arguments().rest();
    words.insert(words.end(), rest.begin(), rest.end());
    std::vector<char*> argv;
    for (std::string& word : words) argv.push_back(word.data());
    argv.push_back(nullptr);
    ::execv(program.c_str(), argv.data());
    return fail(Failure::from_errno("start " + program, errno));
}

namespace {

// "name: value" with one level of nesting as "name.member: value".
void print_members(Context& context, const boost::json::object& object, const std::string& prefix) {
    for (const auto& [name, value] : object) {
        const std::string title = prefix + std::string(name);
        if (const auto* members = value.if_object(); members != nullptr && prefix.empty()) {
            print_members(context, *members, title + ".");
        } else {
            const auto* text = value.if_string();
            context.print_foreign(
                title + ": " +
                (text != nullptr ? std::string(*text) : boost::json::serialize(value)) + "\n");
        }
    }
}

}  // namespace

Result<int> show_host(Context& context) {
    TRY(const auto host, context.client().host());
    if (context.json()) {
        context.print_json(host);
    } else {
        print_members(context, host, "");
    }
    return exit_success;
}

Result<int> run_version(Context& context) {
    const auto health = context.client().health();
    const auto* version = health ? health->if_contains("version") : nullptr;
    if (context.json()) {
        boost::json::object document;
        document["mt"] = CAPSULE_VERSION;
        document["capsuled"] = version != nullptr ? *version : boost::json::value();
        context.print_json(document);
        return exit_success;
    }
    context.print_line("mt " CAPSULE_VERSION);
    if (version != nullptr && version->is_string()) {
        context.print_foreign("capsuled " + std::string(version->get_string()) + "\n");
    } else {
        context.note("no daemon answers at " + context.settings().endpoint.url);
    }
    return exit_success;
}

}  // namespace mt
