// Frames as they were when generation 1 was frozen: golden/NAME.bin is the frame, golden/NAME.json
// its JSON payload. Both are read back and written anew. CAPSULE_REGENERATE_GOLDEN=1 writes the
// files.

#include "protocol/wire/frame.hpp"
#include "protocol/wire/json_codec.hpp"
#include "protocol/wire/messages.hpp"
#include "protocol/wire/operations.hpp"

#include <cstdlib>
#include <fstream>
#include <functional>
#include <sstream>

#include <gtest/gtest.h>

namespace protocol {
namespace {

const std::string folder = TEST_SOURCE_DIR "/protocol/golden/";

struct Golden {
    std::string name;
    Frame frame;
    // Payload -> struct -> payload; empty for frames without JSON.
    std::function<std::string(const boost::json::value&)> rewrite;
};

Frame frame_of(FrameKind kind, std::uint32_t stream, std::string payload,
               Channel channel = Channel::control, bool last = false) {
    Frame frame;
    frame.kind = kind;
    frame.stream = StreamId{stream};
    frame.channel = channel;
    frame.last = last;
    frame.payload = std::move(payload);
    return frame;
}

template <typename T>
Golden request(std::string name, const char* operation, std::uint32_t stream, const T& message) {
    return {std::move(name), frame_of(FrameKind::open, stream, encode_request(operation, message)),
            [operation](const boost::json::value& value) {
                return encode_request(operation, from_json<T>(value).value());
            }};
}

template <typename T>
Golden event_of(std::string name, const char* event, std::uint32_t stream, const T& message) {
    return {std::move(name), frame_of(FrameKind::event, stream, encode_event(event, message)),
            [event](const boost::json::value& value) {
                return encode_event(event, from_json<T>(value).value());
            }};
}

template <typename T>
Golden end_of(std::string name, std::uint32_t stream, const T& message) {
    return {std::move(name), frame_of(FrameKind::end, stream, encode_end(message)),
            [](const boost::json::value& value) {
                return encode_end(decode_end<T>(boost::json::serialize(value)).value());
            }};
}

CommandReport sample_report() {
    CommandReport report;
    report.id = "0189c6a2-7b1e-4c3d-8e5f-0123456789ab";
    report.kind = "signaled";
    report.code = 139;
    report.signal = 11;
    report.run_time_ms = 1234;
    report.peak_memory_bytes = 5'000'000;
    report.output.window = std::string("caf\xC3\xA9 \xF0\x9F\x98\x80\0\n", 12);
    report.output.characters = 70'003;
    report.output.bytes = 210'003;
    report.output_open = true;
    return report;
}

std::vector<Golden> all_golden() {
    std::vector<Golden> all;

    Hello hello;
    hello.features = {"example"};
    hello.software = "capsule-agent 0.1.0";
    hello.boot_id = "0189c6a2-7b1e-4c3d-8e5f-0123456789ab";
    hello.limits.control_payload_bytes = limits::control_payload_bytes;
    hello.limits.data_payload_bytes = limits::data_payload_bytes;
    hello.limits.window_bytes = limits::window_bytes;
    all.push_back({"hello", frame_of(FrameKind::hello, 0, boost::json::serialize(to_json(hello))),
                   [](const boost::json::value& value) {
                       return boost::json::serialize(to_json(from_json<Hello>(value).value()));
                   }});

    CommandStart start;
    start.id = "0189c6a2-7b1e-4c3d-8e5f-0123456789ab";
    start.shell = "printf '%s\\n'";
    start.arguments = {"two words", "", "\"quoted\" $HOME", "line\nbreak"};
    start.user = "maitento";
    start.working_directory = "/mnt/data";
    EnvironmentEntry entry;
    entry.name = "LANG";
    entry.value = "C.UTF-8";
    start.environment.push_back(entry);
    start.limit_ms = 300'000;
    start.terminal.emplace();
    start.hold_output = true;
    all.push_back(request("command-start", operation::command_start, 2, start));

    CommandStart program;
    program.id = start.id;
    program.program = "useradd";
    program.user = "root";
    all.push_back(request("command-start-program", operation::command_start, 4, program));

    CommandReference reference;
    reference.id = start.id;
    all.push_back(request("command-state", operation::command_state, 6, reference));
    all.push_back(request("command-forget", operation::command_forget, 8, reference));

    CommandFollow follow;
    follow.id = start.id;
    follow.output_from = 5'000'000'000;
    follow.lossless = true;
    all.push_back(request("command-follow", operation::command_follow, 10, follow));

    CommandInput input;
    input.id = start.id;
    input.from = 17;
    all.push_back(request("command-input", operation::command_input, 12, input));

    CommandSignal signal;
    signal.id = start.id;
    signal.number = 9;
    signal.tree = true;
    all.push_back(request("command-signal", operation::command_signal, 14, signal));

    CommandResize resize;
    resize.id = start.id;
    resize.size.rows = 50;
    resize.size.columns = 132;
    all.push_back(request("command-resize", operation::command_resize, 16, resize));

    MachineConfigure configure;
    configure.hostname = "sales-report";
    configure.clock_unix_ns = 1'700'000'000'123'456'789;
    configure.deadline_ms = 600'000;
    configure.commands_memory_max = 400'000'000;
    configure.environment = start.environment;
    configure.proxy = "127.0.0.1:3128";
    configure.run_id = start.id;
    configure.namespace_name = "default";
    all.push_back(request("machine-configure", operation::machine_configure, 18, configure));

    ClockSet clock;
    clock.clock_unix_ns = 1'700'000'000'123'456'789;
    all.push_back(request("machine-clock", operation::machine_clock, 20, clock));

    Mount mount;
    mount.tag = "vfs0";
    mount.name = "data";
    mount.read_only = true;
    all.push_back(request("mount", operation::mount, 22, mount));

    SecretWrite secret;
    secret.name = "token";
    secret.size = 6;
    all.push_back(request("secret-write", operation::secret_write, 24, secret));

    all.push_back(request("machine-settle", operation::machine_settle, 26, Settle()));

    Tunnel tunnel;
    tunnel.peer_uid = 1000;
    all.push_back(request("api", operation::api, 1, tunnel));
    all.push_back(request("egress", operation::egress, 3, tunnel));

    CommandStarted started;
    started.pid = 321;
    all.push_back(event_of("started", event::started, 2, started));
    all.push_back(event_of("exited", event::exited, 2, sample_report()));
    OutputGap gap;
    gap.channel = 2;
    gap.from = 10;
    gap.to = 300'000;
    all.push_back(event_of("gap", event::gap, 10, gap));
    InputTaken taken;
    taken.offset = 17;
    all.push_back(event_of("taken", event::taken, 12, taken));
    PowerNotice power;
    power.action = "poweroff";
    all.push_back(event_of("power", event::power, 0, power));

    all.push_back(end_of("end-report", 2, sample_report()));
    all.push_back(end_of("end-done", 8, Done()));
    all.push_back(
        {"end-failure",
         frame_of(FrameKind::end, 6, encode_end_failure(Failure::from_errno("no such command", 2))),
         [](const boost::json::value& value) {
             const auto& failure = value.as_object().at("failure");
             boost::json::object object;
             object["failure"] = to_json(from_json<RemoteFailure>(failure).value());
             return boost::json::serialize(object);
         }});

    all.push_back(
        {"data", frame_of(FrameKind::data, 10, std::string("\0\xFF\n", 3), Channel::error), {}});
    all.push_back({"half-close", frame_of(FrameKind::data, 12, "", Channel::input, true), {}});
    all.push_back(
        {"credit", frame_of(FrameKind::credit, 10, encode_u32(65'536), Channel::output), {}});
    all.push_back({"reset", frame_of(FrameKind::reset, 10, ""), {}});
    all.push_back({"ping", frame_of(FrameKind::ping, 0, "\1\2\3\4\5\6\7\x8"), {}});
    all.push_back({"pong", frame_of(FrameKind::pong, 0, "\1\2\3\4\5\6\7\x8"), {}});
    return all;
}

std::string read_file(const std::string& path) {
    std::ostringstream text;
    text << std::ifstream(path, std::ios::binary).rdbuf();
    return text.str();
}

std::string encoded(const Frame& frame) {
    std::string bytes;
    encode_frame(frame, bytes);
    return bytes;
}

TEST(Golden, FramesAreWrittenAsTheyWere) {
    if (std::getenv("CAPSULE_REGENERATE_GOLDEN") != nullptr) {
        for (const Golden& golden : all_golden()) {
            std::ofstream(folder + golden.name + ".bin", std::ios::binary) << encoded(golden.frame);
            if (golden.rewrite)
                std::ofstream(folder + golden.name + ".json") << golden.frame.payload << "\n";
        }
        GTEST_SKIP() << "CAPSULE_REGENERATE_GOLDEN: written, not compared: " << folder;
    }
    for (const Golden& golden : all_golden()) {
        EXPECT_EQ(encoded(golden.frame), read_file(folder + golden.name + ".bin")) << golden.name;
        if (golden.rewrite) {
            EXPECT_EQ(golden.frame.payload + "\n", read_file(folder + golden.name + ".json"))
                << golden.name;
        }
    }
}

TEST(Golden, FramesAreReadAsTheyWere) {
    if (std::getenv("CAPSULE_REGENERATE_GOLDEN") != nullptr) {
        GTEST_SKIP() << "CAPSULE_REGENERATE_GOLDEN: files are being written";
    }
    for (const Golden& golden : all_golden()) {
        FrameDecoder decoder;
        decoder.feed(read_file(folder + golden.name + ".bin"));
        auto next = decoder.next();
        ASSERT_TRUE(next && *next) << golden.name;
        const Frame& frame = **next;
        EXPECT_EQ(frame.kind, golden.frame.kind) << golden.name;
        EXPECT_EQ(frame.stream, golden.frame.stream) << golden.name;
        EXPECT_EQ(frame.channel, golden.frame.channel) << golden.name;
        EXPECT_EQ(frame.last, golden.frame.last) << golden.name;
        EXPECT_TRUE(decoder.at_boundary()) << golden.name;
        if (!golden.rewrite) continue;
        const auto value = parse_json(frame.payload);
        ASSERT_TRUE(value) << golden.name;
        EXPECT_EQ(golden.rewrite(*value) + "\n", read_file(folder + golden.name + ".json"))
            << golden.name;
    }
}

}  // namespace
}  // namespace protocol
