#pragma once
// Client: the daemon's HTTP API as typed, blocking calls. Used by `mt`; docs/api.md is the
// contract. One thread per Client; raise Settings::interrupt from elsewhere to end a wait.
//
// Failures carry the daemon's own code and sentence ("not-found", "no-room"...), or one of
// connection.hpp's when the daemon could not be asked.

#include "protocol/base/result.hpp"
#include "sdk/cpp/connection.hpp"
#include "sdk/cpp/documents.hpp"

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <boost/json/object.hpp>

namespace sdk {

// How long a lost daemon is waited for: it restarts without ending runs.
inline constexpr std::chrono::seconds reconnect_limit{30};

using BodyWriter = std::function<Result<void>(std::string_view bytes)>;

enum class Until : std::uint8_t { started, ended };

struct RunFilter {
    RunFilter() = default;
    std::string space, status;  // "" = all
    bool live_only = false;
    std::size_t limit = 0;  // 0: the daemon's own page size
    std::string after;
};

class Client {
  public:
    explicit Client(Settings settings);
    Client(Client&&) noexcept = default;
    Client& operator=(Client&&) noexcept = default;

    const Settings& settings() const { return connection_.settings(); }
    // Fails with "unreachable" at once; later calls of this client wait for a restarting daemon
    // where their description says so.
    Result<void> open() { return connection_.open(); }

    Result<json::object> health();
    Result<json::object> host();

    Result<std::vector<Named>> namespaces();
    Result<Named> create_namespace(const std::string& name);
    Result<void> delete_namespace(const std::string& name);

    Result<std::vector<Named>> vfs_list(const std::string& space);
    Result<Named> vfs(const std::string& space, const std::string& name);
    Result<Named> create_vfs(const std::string& space, const std::string& name);
    Result<void> delete_vfs(const std::string& space, const std::string& name);

    Result<VfsEntry> stat(const std::string& space, const std::string& vfs, std::string_view path);
    Result<std::vector<VfsEntry>> list(const std::string& space, const std::string& vfs,
                                       std::string_view path);
    Result<void> read(const std::string& space, const std::string& vfs, std::string_view path,
                      const BodyWriter& write);
    Result<void> write(const std::string& space, const std::string& vfs, std::string_view path,
                       BodyReader source, std::optional<std::uint64_t> size);
    Result<void> make_folder(const std::string& space, const std::string& vfs,
                             std::string_view path);
    Result<void> move(const std::string& space, const std::string& vfs, std::string_view from,
                      const std::string& to);
    Result<void> remove(const std::string& space, const std::string& vfs, std::string_view path,
                        bool recursive);

    Result<std::vector<Named>> secrets(const std::string& space);
    Result<void> set_secret(const std::string& space, const std::string& name, std::string value);
    Result<void> delete_secret(const std::string& space, const std::string& name);

    // A refused definition is a report with diagnostics, not a failure.
    Result<DeployReport> deploy(const std::string& space, const std::vector<SourceFile>& files);
    Result<std::vector<Named>> capsules(const std::string& space);
    Result<Named> capsule(const std::string& space, const std::string& name);
    Result<void> delete_capsule(const std::string& space, const std::string& name);

    Result<json::array> images();
    Result<json::object> image(const std::string& name);
    Result<json::object> delete_image(const std::string& name);  // what was deleted
    // The namespace's record; "" = the host's image again.
    Result<json::object> set_default_image(const std::string& space, const std::string& image);

    // start, exec and the waits survive a daemon that restarts (reconnect_limit).
    Result<Run> start(const std::string& space, const std::string& capsule);
    Result<Page<Run>> runs(const RunFilter& filter);
    Result<Run> run(const std::string& id);
    // Returns when the condition holds.
    Result<Run> wait_run(const std::string& id, Until until);
    Result<Run> terminate(const std::string& id);
    Result<void> console(const std::string& id, const BodyWriter& write);
    // How long the daemon waited for the answer of the run's agent.
    Result<std::chrono::microseconds> ping(const std::string& id);

    Result<Command> exec(const std::string& run, const ExecRequest& request);
    Result<Page<Command>> commands(const std::string& run, const std::string& after);
    Result<Command> command(const std::string& run, const std::string& id);
    // At most `limit`; the command as it is then.
    Result<Command> command(const std::string& run, const std::string& id,
                            std::chrono::seconds limit);
    Result<Command> kill(const std::string& run, const std::string& id, int signal);
    Result<void> resize(const std::string& run, const std::string& id, TerminalSize size);
    // The rest of standard input from offset `from` on, for as long as `source` has something; its
    // end is the end of the input. One call, because pieces sent apart could overtake each other.
    Result<void> send_input(const std::string& run, const std::string& id, std::uint64_t from,
                            BodyReader source);

    Result<json::object> create_key(const std::string& label,
                                    const std::vector<std::string>& namespaces);
    Result<json::array> keys();
    Result<void> delete_key(const std::string& id);

    // Repeats `call` while it fails for the connection's sake, for reconnect_limit after the first
    // failure at most.
    template <typename Call>
    auto reconnecting(Call call) -> decltype(call());

  private:
    Result<json::value> ask(const Request& request);
    Result<json::value> get(std::string target, std::chrono::seconds wait = {});
    Result<json::value> post(std::string target, json::value body);
    Result<json::value> create(std::string target, json::value body, const std::string& key);
    Result<void> remove_at(std::string target);
    bool pause(std::chrono::steady_clock::time_point lost, std::chrono::milliseconds& delay) const;

    Connection connection_;
};

// "/v1/namespaces/NS/KIND/NAME", each part percent-encoded; path of a file within a VFS keeps '/'.
std::string encode_path(std::string_view path);
std::string encode_part(std::string_view part);

// The object that an answer is, or a failure.
Result<json::object> object_of(Result<json::value> answer);

// A failure from an answer of status 400 or more.
protocol::Failure read_problem(const ResponseHead& head, const std::string& body);

template <typename Call>
auto Client::reconnecting(Call call) -> decltype(call()) {
    // From the first failure, not from the first call: that one may have waited long for its
    // answer.
    std::optional<std::chrono::steady_clock::time_point> lost;
    std::chrono::milliseconds delay{50};
    for (;;) {
        auto result = call();
        if (result || !is_connection_failure(result.error())) return result;
        if (!lost) lost = std::chrono::steady_clock::now();
        if (!pause(*lost, delay)) return result;
    }
}

}  // namespace sdk
