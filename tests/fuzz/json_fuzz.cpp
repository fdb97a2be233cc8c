// The JSON codec: any text is either refused or read; what has been read as a message is written
// and read again to the same text.

#include "protocol/base/utf8.hpp"
#include "protocol/wire/json_codec.hpp"
#include "tests/fuzz/fuzz.hpp"
#include "tests/protocol/support/described.hpp"

#include <string>
#include <string_view>

using namespace protocol;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const std::string_view text(reinterpret_cast<const char*>(data), size);
    const auto value = parse_json(text);
    (void)decode_named(text, "operation");
    (void)decode_end<CommandReport>(text);
    if (!value) return 0;
    fuzz::require(is_valid_utf8(text), "valid JSON is valid UTF-8");
    test::for_each_message([&](const auto& sample, const char*) {
        using Message = std::remove_cvref_t<decltype(sample)>;
        for (const Naming naming : {Naming::as_written, Naming::camel_case}) {
            const auto message = from_json<Message>(*value, UnknownMembers::ignore, naming);
            if (!message) continue;
            const auto written = to_json(*message, naming);
            const std::string once = boost::json::serialize(written);
            const auto again = from_json<Message>(written, UnknownMembers::refuse, naming);
            fuzz::require(again.has_value(), "what is written can be read strictly");
            fuzz::require(boost::json::serialize(to_json(*again, naming)) == once,
                          "written twice is written the same");
        }
    });
    return 0;
}
