#pragma once
// Context: what every command of mt works with: its arguments, the environment's settings, a client
// and the two outputs. One thread.

#include "sdk/cpp/client.hpp"
#include "sdk/mt/arguments.hpp"
#include "sdk/mt/output.hpp"

#include <string>

#include <boost/json/value.hpp>

namespace mt {

// From MAITENTO_URL, MAITENTO_API_KEY and MAITENTO_NAMESPACE.
struct Environment {
    Environment() = default;
    std::string url = sdk::default_url;
    std::string api_key;
    std::string space = "default";
    static Environment from_process();
    bool is_inside_capsule() const;
};

class Context {
  public:
    // invalid_argument when MAITENTO_URL is not an address.
    static Result<Context> make(Arguments arguments, Environment environment);

    const Arguments& arguments() const { return arguments_; }
    const Environment& environment() const { return environment_; }
    // --namespace, or the environment's.
    std::string space() const;
    bool json() const { return arguments_.has("json"); }

    sdk::Client& client() { return client_; }
    const sdk::Settings& settings() const { return client_.settings(); }
    // A client of its own connection, woken by `interrupt`.
    sdk::Client make_client(const sdk::Interrupt* interrupt) const;

    // Standard output; foreign text goes through presentable() first.
    void print(std::string_view text) const;
    void print_line(std::string_view text) const;
    void print_foreign(std::string_view text) const;
    void print_json(const boost::json::value& value) const;
    void print_table(const Table& table) const;
    // One line of standard error.
    void note(std::string_view text) const;

  private:
    Context(Arguments arguments, Environment environment, sdk::Settings settings);

    Arguments arguments_;
    Environment environment_;
    sdk::Client client_;
};

}  // namespace mt
