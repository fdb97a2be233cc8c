#include "host/storage/image_manifest.hpp"

#include "protocol/base/name.hpp"
#include "protocol/wire/json_codec.hpp"

#include <fstream>
#include <iterator>

#include <fmt/format.h>

namespace host::storage {

using protocol::Kind;
using protocol::Result;

namespace {

constexpr std::uint32_t known_format = 1;
constexpr std::size_t manifest_limit = 4u << 20;

Result<std::string> read_text(const std::string& file) {
    std::ifstream input(file, std::ios::binary);
    std::string text{std::istreambuf_iterator<char>(input), std::istreambuf_iterator<char>()};
    if (!input) return protocol::fail(Kind::io, file + " cannot be read");
    if (text.size() > manifest_limit)
        return protocol::fail(Kind::too_large, file + " is not a manifest");
    return text;
}

}  // namespace

Result<ImageManifest> read_manifest(const std::string& folder, const std::string& kind) {
    const std::string file = folder + "/manifest.json";
    TRY(const std::string text, read_text(file));
    auto parsed = protocol::parse_json(text);
    if (!parsed) return protocol::fail(std::move(parsed).error().context(file));
    auto manifest = protocol::from_json<ImageManifest>(*parsed, protocol::UnknownMembers::ignore,
                                                       protocol::Naming::camel_case);
    if (!manifest) return protocol::fail(std::move(manifest).error().context(file));
    if (manifest->format_version != known_format || manifest->kind != kind) {
        return protocol::fail(Kind::unsupported,
                              fmt::format("{} describes a {} in format {}, not a {} in format {}",
                                          file, protocol::escape_foreign(manifest->kind, 40),
                                          manifest->format_version, kind, known_format));
    }
    return std::move(*manifest);
}

}  // namespace host::storage
