// libFuzzer target: whatever the text, parse() returns a definition or 1 to 20 findings.

#include "host/definition/parser.hpp"

#include <cstddef>
#include <cstdint>
#include <cstdlib>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const std::string_view text(reinterpret_cast<const char*>(data), size);  // bytes are bytes
    const auto result = host::definition::parse(text, "fuzz.mtr", "fuzz");
    if (const auto* findings = std::get_if<std::vector<host::sandbox::Diagnostic>>(&result)) {
        if (findings->empty() || findings->size() > 20) std::abort();
    }
    host::definition::references(text, "fuzz");
    return 0;
}
