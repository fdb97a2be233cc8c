#pragma once
// Records of the daemon as the API's JSON. The one place that knows member names of answers;
// docs/api.md and openapi_schemas.cpp describe the same shapes.

#include "host/model/records.hpp"
#include "host/sandbox/service.hpp"
#include "host/storage/vfs_files.hpp"

#include <string>
#include <string_view>

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/string.hpp>

namespace host::api {

// Text from outside: ill-formed UTF-8 becomes U+FFFD, so that every answer is valid JSON.
boost::json::string json_text(std::string_view text);
// RFC 3339 in UTC with milliseconds: "2026-01-31T09:30:00.000Z".
std::string json_time(model::UnixMillis time);

enum class Outputs : std::uint8_t { with, without };

boost::json::object to_json(const model::NamespaceRecord& record);
boost::json::object to_json(const model::VfsRecord& record);
boost::json::object to_json(const model::SecretRecord& record);
enum class Details : std::uint8_t { none, all };
boost::json::object to_json(const model::CapsuleRecord& record, Details details);
boost::json::object to_json(const sandbox::ImageInfo& image);
boost::json::object to_json(const model::RunRecord& record);
boost::json::object to_json(const model::CommandRecord& record, Outputs outputs);
boost::json::object to_json(const model::EventRecord& record);
boost::json::object to_json(const model::ApiKeyRecord& record);
boost::json::object to_json(const sandbox::DeployReport& report);
boost::json::object to_json(const storage::VfsEntry& entry);
boost::json::object to_json(const model::Definition& definition);

constexpr auto record_json = [](const auto& record) { return to_json(record); };

// {"items": [...]} and, of a page, "next" (always there, "" = no more).
template <typename Records, typename Write>
boost::json::object json_list(const Records& records, Write write) {
    boost::json::array items;
    items.reserve(records.size());
    for (const auto& record : records) items.push_back(write(record));
    boost::json::object result;
    result["items"] = std::move(items);
    return result;
}

}  // namespace host::api
