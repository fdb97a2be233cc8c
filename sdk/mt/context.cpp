#include "sdk/mt/context.hpp"

#include <cstdlib>
#include <unistd.h>

namespace mt {
namespace {

constexpr char capsule_url[] = "unix:///run/capsule/api.sock";

std::string variable(const char* name, std::string otherwise) {
    const char* value = std::getenv(name);
    return value != nullptr && *value != '\0' ? value : std::move(otherwise);
}

}  // namespace

Environment Environment::from_process() {
    Environment environment;
    environment.url = variable("MAITENTO_URL", sdk::default_url);
    environment.api_key = variable("MAITENTO_API_KEY", "");
    environment.space = variable("MAITENTO_NAMESPACE", "default");
    return environment;
}

bool Environment::is_inside_capsule() const {
    return url == capsule_url;
}

Result<Context> Context::make(Arguments arguments, Environment environment) {
    sdk::Settings settings;
    auto endpoint = sdk::parse_endpoint(environment.url);
    if (!endpoint) {
        return protocol::fail(std::move(endpoint).error().context("MAITENTO_URL"));
    }
    settings.endpoint = std::move(*endpoint);
    settings.api_key = environment.api_key;
    return Context(std::move(arguments), std::move(environment), std::move(settings));
}

Context::Context(Arguments arguments, Environment environment, sdk::Settings settings)
    : arguments_(std::move(arguments)),
      environment_(std::move(environment)),
      client_(std::move(settings)) {}

std::string Context::space() const {
    const std::string given = arguments_.value("namespace");
    return given.empty() ? environment_.space : given;
}

sdk::Client Context::make_client(const sdk::Interrupt* interrupt) const {
    return sdk::Client(settings().woken_by(interrupt));
}

void Context::print(std::string_view text) const {
    write_all(STDOUT_FILENO, text);
}

void Context::print_line(std::string_view text) const {
    print(std::string(text) + "\n");
}

void Context::print_foreign(std::string_view text) const {
    print(presentable(text, is_terminal(STDOUT_FILENO)));
}

void Context::print_json(const boost::json::value& value) const {
    print(pretty_json(value));
}

void Context::print_table(const Table& table) const {
    print(table.render(is_terminal(STDOUT_FILENO)));
}

void Context::note(std::string_view text) const {
    write_all(STDERR_FILENO, "mt: " + presentable(text, is_terminal(STDERR_FILENO)) + "\n");
}

}  // namespace mt
