// The surface of generation 1, rendered from the code and compared with the frozen file. A
// difference means: existing guests and hosts would see another protocol. docs/protocol.md,
// "Evolution".

#include "protocol/wire/frame.hpp"
#include "protocol/wire/json_codec.hpp"
#include "protocol/wire/messages.hpp"
#include "protocol/wire/operations.hpp"
#include "tests/protocol/support/described.hpp"

#include <cstdlib>
#include <fstream>
#include <sstream>

#include <gtest/gtest.h>

namespace protocol {
namespace {

using Object = boost::json::object;

template <typename T>
std::string type_name();

template <typename T>
std::string described_name() {
    std::string name = "?";
    test::for_each_message([&](const auto& message, const char* candidate) {
        if (std::is_same_v<std::remove_cvref_t<decltype(message)>, T>) name = candidate;
    });
    return name;
}

template <typename T>
std::string type_name() {
    if constexpr (codec::is_optional<T>) {
        return type_name<typename T::value_type>() + "?";
    } else if constexpr (codec::is_vector<T>) {
        return "[" + type_name<typename T::value_type>() + "]";
    } else if constexpr (std::is_same_v<T, std::string>) {
        return "string";
    } else if constexpr (std::is_same_v<T, bool>) {
        return "bool";
    } else if constexpr (std::is_integral_v<T>) {
        return (std::is_signed_v<T> ? "i" : "u") + std::to_string(8 * sizeof(T));
    } else {
        return described_name<T>();
    }
}

Object operation_row(const char* opener, const char* request, const char* answer) {
    return {{"opened_by", opener}, {"request", request}, {"answer", answer}};
}

Object event_row(const char* where, const char* payload) {
    return {{"of", where}, {"payload", payload}};
}

boost::json::value render_schema() {
    Object structs;
    test::for_each_message([&](const auto& message, const char* name) {
        Object members;
        using Message = std::remove_cvref_t<decltype(message)>;
        boost::mp11::mp_for_each<codec::Members<Message>>([&](auto member) {
            using Field = std::remove_cvref_t<decltype(message.*member.pointer)>;
            members[member.name] = type_name<Field>();
        });
        structs[name] = std::move(members);
    });

    Object operations;
    namespace op = operation;
    operations[op::command_start] = operation_row("host", "CommandStart", "CommandReport");
    operations[op::command_state] = operation_row("host", "CommandReference", "CommandReport");
    operations[op::command_forget] = operation_row("host", "CommandReference", "Done");
    operations[op::command_follow] = operation_row("host", "CommandFollow", "Done");
    operations[op::command_input] = operation_row("host", "CommandInput", "Done");
    operations[op::command_signal] = operation_row("host", "CommandSignal", "Done");
    operations[op::command_resize] = operation_row("host", "CommandResize", "Done");
    operations[op::machine_configure] = operation_row("host", "MachineConfigure", "Done");
    operations[op::machine_clock] = operation_row("host", "ClockSet", "Done");
    operations[op::machine_settle] = operation_row("host", "Settle", "Done");
    operations[op::mount] = operation_row("host", "Mount", "Done");
    operations[op::secret_write] = operation_row("host", "SecretWrite", "Done");
    operations[op::api] = operation_row("guest", "Tunnel", "Done");
    operations[op::egress] = operation_row("guest", "Tunnel", "Done");

    Object events;
    events[event::started] = event_row("command.start", "CommandStarted");
    events[event::exited] = event_row("command.start, command.follow", "CommandReport or Done");
    events[event::gap] = event_row("command.follow", "OutputGap");
    events[event::taken] = event_row("command.input", "InputTaken");
    events[event::power] = event_row("connection", "PowerNotice");

    const auto number = [](auto enumerator) { return static_cast<int>(enumerator); };
    Object kinds{{"hello", number(FrameKind::hello)},   {"open", number(FrameKind::open)},
                 {"event", number(FrameKind::event)},   {"data", number(FrameKind::data)},
                 {"credit", number(FrameKind::credit)}, {"end", number(FrameKind::end)},
                 {"reset", number(FrameKind::reset)},   {"ping", number(FrameKind::ping)},
                 {"pong", number(FrameKind::pong)},     {"bye", number(FrameKind::bye)}};
    Object channels{{"control", number(Channel::control)},
                    {"input", number(Channel::input)},
                    {"output", number(Channel::output)},
                    {"error", number(Channel::error)}};

    return {{"generation", generation}, {"frame_kinds", kinds}, {"channels", channels},
            {"operations", operations}, {"events", events},     {"structs", structs}};
}

void print(const boost::json::value& node, int depth, std::ostream& out) {
    const Object* members = node.if_object();
    if (members == nullptr || members->empty()) {
        out << boost::json::serialize(node);
        return;
    }
    const std::string indent(static_cast<std::size_t>(depth) * 2, ' ');
    const char* separator = "{\n";
    for (const auto& member : *members) {
        out << separator << indent << "  \"" << member.key() << "\": ";
        print(member.value(), depth + 1, out);
        separator = ",\n";
    }
    out << "\n" << indent << "}";
}

TEST(Schema, OfThisGenerationIsTheFrozenOne) {
    const std::string path =
        TEST_SOURCE_DIR "/../protocol/schema/generation-" + std::to_string(generation) + ".json";
    std::ostringstream rendered;
    print(render_schema(), 0, rendered);
    rendered << "\n";
    if (std::getenv("CAPSULE_REGENERATE_GOLDEN") != nullptr) {
        std::ofstream(path) << rendered.str();
        GTEST_SKIP() << "CAPSULE_REGENERATE_GOLDEN: written, not compared: " << path;
    }
    std::ostringstream frozen;
    frozen << std::ifstream(path).rdbuf();
    EXPECT_EQ(rendered.str(), frozen.str());
}

TEST(Schema, NamesEveryStruct) {
    test::for_each_message([](const auto& message, const char* name) {
        boost::mp11::mp_for_each<codec::Members<std::remove_cvref_t<decltype(message)>>>(
            [&](auto member) {
                using Field = std::remove_cvref_t<decltype(message.*member.pointer)>;
                EXPECT_FALSE(type_name<Field>().starts_with('?') || type_name<Field>() == "[?]")
                    << name << "." << member.name;
            });
    });
}

}  // namespace
}  // namespace protocol
