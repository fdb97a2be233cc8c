// mt doctor and mt version.

#include "sdk/mt/context.hpp"
#include "sdk/mt/handlers.hpp"
#include "sdk/mt/programs.hpp"

#include <cstring>
#include <unistd.h>

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
