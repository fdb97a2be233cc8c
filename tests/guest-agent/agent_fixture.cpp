#include "tests/guest-agent/agent_fixture.hpp"

#include <csignal>
#include <filesystem>
#include <fstream>
#include <pwd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <thread>
#include <unistd.h>
#include <variant>

#include <boost/asio/post.hpp>

namespace guest_agent {

using protocol::Channel;
using protocol::Result;
using protocol::StreamId;

namespace {

// Where there is no cgroup2 to write to: a command's own process is killed by its pid, its tree is
// not.
class NoGroup final : public ProcessGroup {
  public:
    int directory() const override { return -1; }
    void kill() override {}
    void signal(int) override {}
    bool out_of_memory() const override { return false; }
    std::optional<std::uint64_t> peak_memory() const override { return std::nullopt; }
    bool remove() override { return true; }
};

class NoGroups final : public ProcessGroups {
  public:
    Result<std::unique_ptr<ProcessGroup>> make(const std::string&) override {
        return std::make_unique<NoGroup>();
    }
    Result<void> limit(std::uint64_t, std::uint32_t) override { return {}; }
    void relieve_memory() override {}
    void kill_all() override {}
};

// Real cgroups, without the limits that need controllers this machine may have given elsewhere.
class KillableGroups final : public ProcessGroups {
  public:
    explicit KillableGroups(std::unique_ptr<ProcessGroups> groups) : groups_(std::move(groups)) {}
    Result<std::unique_ptr<ProcessGroup>> make(const std::string& name) override {
        return groups_->make(name);
    }
    Result<void> limit(std::uint64_t, std::uint32_t) override { return {}; }
    void relieve_memory() override { groups_->relieve_memory(); }
    void kill_all() override { groups_->kill_all(); }

  private:
    std::unique_ptr<ProcessGroups> groups_;
};

}  // namespace

// ---- FakeMachine --------------------------------------------------------------------------------

Result<void> FakeMachine::set_hostname(const std::string& name) {
    hostname = name;
    return {};
}

Result<void> FakeMachine::set_clock(std::int64_t) {
    return {};
}

Result<void> FakeMachine::mount(const protocol::Mount& request) {
    mounts.push_back(request.tag + " at " + request.name + (request.read_only ? " (ro)" : ""));
    return {};
}

Result<void> FakeMachine::write_secret(const std::string& name, std::string_view bytes) {
    secrets[name] = bytes;
    return {};
}

void FakeMachine::release_vfs(bool, std::function<void(Result<void>)> done) {
    ++released;
    done({});
}

// ---- HostEnd ------------------------------------------------------------------------------------

const boost::json::object* StreamLog::event(std::string_view name) const {
    for (const auto& event : events) {
        if (event.at("event").as_string() == name) return &event;
    }
    return nullptr;
}

void HostEnd::connect(boost::asio::io_context& loop, protocol::UniqueFd fd) {
    const auto hello = boost::json::serialize(protocol::to_json(protocol::Hello()));
    link = protocol::Link::make(loop.get_executor(), std::move(fd), protocol::Role::host, hello,
                                protocol::EndOfFile::closes, *this);
    link->start();
}

StreamId HostEnd::open(std::string request) {
    const auto id = link->session().open(std::move(request));
    EXPECT_TRUE(id);
    link->flush();
    return id.value_or(StreamId::connection);
}

void HostEnd::on_event(protocol::SessionEvent event) {
    if (std::holds_alternative<protocol::PeerReady>(event)) ready = true;
    if (const auto* opened = std::get_if<protocol::StreamOpened>(&event)) {
        logs[opened->stream].opened_as = opened->request;
    }
    if (const auto* said = std::get_if<protocol::StreamEvent>(&event)) {
        logs[said->stream].events.push_back(protocol::parse_json(said->payload)->as_object());
    }
    if (const auto* data = std::get_if<protocol::StreamData>(&event)) {
        auto& log = logs[data->stream];
        log.data[data->channel] += data->bytes;
        log.largest_frame = std::max(log.largest_frame, data->bytes.size());
        log.closed[data->channel] = log.closed[data->channel] || data->last;
        if (give_credit) link->session().consumed(data->stream, data->channel, data->bytes.size());
    }
    if (const auto* ended = std::get_if<protocol::StreamEnded>(&event)) {
        logs[ended->stream].end = ended->payload;
    }
}

// ---- AgentFixture -------------------------------------------------------------------------------

AgentFixture::AgentFixture(protocol::EndOfFile transport) : transport_(transport) {
    std::signal(SIGPIPE, SIG_IGN);
    folder_ = std::filesystem::temp_directory_path() / ("agent-test-" + std::to_string(::getpid()));
    std::filesystem::create_directories(folder_ + "/etc");
    std::filesystem::create_directories(folder_ + "/home");
    const auto id = std::to_string(::getuid()) + ":" + std::to_string(::getgid());
    std::ofstream(folder_ + "/etc/passwd")
        << "tester:x:" << id << "::" << folder_ << "/home:/bin/bash\n"
        << "homeless:x:" << id << "::" << folder_ << "/nowhere:/bin/bash\n"
        << "default:x:1000:1000::" << folder_ << "/home:/bin/bash\n"
        << "builder:x:12345:12345::" << folder_ << "/home:/bin/bash\n";
    make_groups();
    context_ =
        std::make_unique<CommandContext>(CommandContext{loop_.get_executor(), reaper_, *groups_});
    ServicePaths paths;
    paths.root = folder_;
    paths.environment_file = folder_ + "/environment";
    paths.proxy_environment_file = folder_ + "/proxy-environment";
    paths.api_folder = folder_ + "/run";
    service_ = std::make_unique<Service>(*context_, machine_, paths);
    server_ =
        std::make_unique<LinkServer>(loop_.get_executor(), *service_,
                                     boost::json::serialize(protocol::to_json(protocol::Hello())));
    reaper_.start();
    service_->machine_ready();
    connect();
}

AgentFixture::~AgentFixture() {
    groups_->kill_all();
    loop_.poll();
    server_.reset();
    host_.reset();
    service_.reset();
    std::error_code ignored;
    std::filesystem::remove_all(folder_, ignored);
    // What was killed leaves its cgroup within moments.
    for (int turn = 0; has_cgroups() && turn < 200; ++turn) {
        for (const auto& entry :
             std::filesystem::directory_iterator(cgroup_ + "/commands", ignored)) {
            if (entry.is_directory(ignored)) ::rmdir(entry.path().c_str());
        }
        if (::rmdir((cgroup_ + "/commands").c_str()) == 0 && ::rmdir(cgroup_.c_str()) == 0) break;
        std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
}

void AgentFixture::make_groups() {
    for (const std::string root : {"/sys/fs/cgroup", "/sys/fs/cgroup/unified"}) {
        if (::access((root + "/cgroup.procs").c_str(), W_OK) < 0) continue;
        cgroup_ = root + "/agent-test-" + std::to_string(::getpid());
        if (::mkdir(cgroup_.c_str(), 0755) < 0) continue;
        if (auto groups = open_cgroups(cgroup_)) {
            groups_ = std::make_unique<KillableGroups>(std::move(*groups));
            return;
        }
    }
    cgroup_.clear();
    groups_ = std::make_unique<NoGroups>();
}

void AgentFixture::connect() {
    int ends[2];
    ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, ends), 0);
    host_ = std::make_unique<HostEnd>();
    server_->serve_connected(protocol::UniqueFd(ends[1]), transport_);
    host_->connect(loop_, protocol::UniqueFd(ends[0]));
    until([this] { return host_->ready; });
}

void AgentFixture::disconnect() {
    host_->link->detach();
    host_->ready = false;
    loop_.poll();
}

void AgentFixture::until(const std::function<bool()>& done, std::chrono::milliseconds limit) {
    const auto deadline = std::chrono::steady_clock::now() + limit;
    while (!done()) {
        if (std::chrono::steady_clock::now() > deadline) {
            GTEST_FAIL() << "did not happen in " << limit.count() << " ms";
        }
        loop_.restart();
        loop_.run_one_for(std::chrono::milliseconds(100));
    }
}

protocol::CommandStart AgentFixture::shell(std::string text, std::vector<std::string> arguments) {
    protocol::CommandStart request;
    request.id = protocol::CommandId::random().str();
    request.shell = std::move(text);
    request.arguments = std::move(arguments);
    request.user = "tester";
    return request;
}

StreamId AgentFixture::start(const protocol::CommandStart& request) {
    return open(protocol::operation::command_start, request);
}

protocol::CommandReport AgentFixture::exited(StreamId stream) {
    const auto& log = host().log(stream);
    until([&] { return log.event("exited") != nullptr || !log.end.empty(); });
    if (log.event("exited") == nullptr) {
        ADD_FAILURE() << "no report: " << log.end;
        return {};
    }
    return protocol::from_json<protocol::CommandReport>(*log.event("exited"))
        .value_or(protocol::CommandReport());
}

protocol::CommandReport AgentFixture::run(const protocol::CommandStart& request) {
    return exited(start(request));
}

protocol::CommandReport AgentFixture::run(std::string text, std::vector<std::string> arguments) {
    return run(shell(std::move(text), std::move(arguments)));
}

protocol::CommandReference AgentFixture::reference(const std::string& id) const {
    protocol::CommandReference made;
    made.id = id;
    return made;
}

}  // namespace guest_agent
