// The part of Client that keeps things: namespaces, VFS and their files, secrets, capsules.

#include "protocol/wire/json_codec.hpp"
#include "sdk/cpp/client.hpp"

#include <array>

#include <boost/json/serialize.hpp>

namespace sdk {
namespace {

using protocol::fail;
using protocol::Kind;

constexpr std::size_t problem_limit = 1u << 20;

std::string at(const std::string& space, std::string_view kind, std::string_view name = {}) {
    std::string target = "/v1/namespaces/" + encode_part(space) + "/" + std::string(kind);
    if (!name.empty()) target += "/" + encode_part(name);
    return target;
}

std::string file_at(const std::string& space, const std::string& vfs, std::string_view path) {
    while (path.starts_with('/')) path.remove_prefix(1);
    return at(space, "vfs", vfs) + "/files/" + encode_path(path);
}

json::object named_body(const std::string& name) {
    json::object body;
    body["name"] = name;
    return body;
}

Result<std::vector<Named>> names_of(Result<json::value> answer) {
    if (!answer) return fail(std::move(answer).error());
    TRY(auto page, read_page<Named>(*answer, "items", read_named));
    return std::move(page.items);
}

Result<Named> named_of(Result<json::value> answer) {
    if (!answer) return fail(std::move(answer).error());
    return read_named(*answer);
}

Result<void> nothing_of(const Result<json::value>& answer) {
    if (!answer) return fail(answer.error());
    return {};
}

Request raw_put(std::string target) {
    Request request;
    request.method = "PUT";
    request.target = std::move(target);
    request.headers.emplace_back("Content-Type", "application/octet-stream");
    return request;
}

}  // namespace

// ---- namespaces -----------------------------------------------------------------------------

Result<std::vector<Named>> Client::namespaces() {
    return names_of(get("/v1/namespaces"));
}

Result<Named> Client::create_namespace(const std::string& name) {
    return named_of(post("/v1/namespaces", named_body(name)));
}

Result<void> Client::delete_namespace(const std::string& name) {
    return remove_at("/v1/namespaces/" + encode_part(name));
}

// ---- VFS ------------------------------------------------------------------------------------

Result<std::vector<Named>> Client::vfs_list(const std::string& space) {
    return names_of(get(at(space, "vfs")));
}

Result<Named> Client::vfs(const std::string& space, const std::string& name) {
    return named_of(get(at(space, "vfs", name)));
}

Result<Named> Client::create_vfs(const std::string& space, const std::string& name) {
    return named_of(post(at(space, "vfs"), named_body(name)));
}

Result<void> Client::delete_vfs(const std::string& space, const std::string& name) {
    return remove_at(at(space, "vfs", name));
}

Result<VfsEntry> Client::stat(const std::string& space, const std::string& vfs,
                              std::string_view path) {
    TRY(const json::value answer, get(file_at(space, vfs, path) + "?stat=true"));
    return read_vfs_entry(answer);
}

Result<std::vector<VfsEntry>> Client::list(const std::string& space, const std::string& vfs,
                                           std::string_view path) {
    TRY(const json::value answer, get(file_at(space, vfs, path)));
    TRY(auto page, read_page<VfsEntry>(answer, "entries", read_vfs_entry));
    return std::move(page.items);
}

Result<void> Client::read(const std::string& space, const std::string& vfs, std::string_view path,
                          const BodyWriter& write) {
    Request request;
    request.method = "GET";
    request.target = file_at(space, vfs, path);
    TRY(const ResponseHead head, connection_.send(request));
    if (head.status >= 400) {
        TRY(const std::string body, connection_.read_rest(problem_limit));
        return fail(read_problem(head, body));
    }
    std::array<char, 64u << 10> piece;
    for (;;) {
        auto count = connection_.read_body(piece.data(), piece.size());
        if (!count) {
            connection_.close();
            return fail(std::move(count).error());
        }
        if (*count == 0) return {};
        if (auto written = write(std::string_view(piece.data(), *count)); !written) {
            connection_.close();
            return written;
        }
    }
}

Result<void> Client::write(const std::string& space, const std::string& vfs, std::string_view path,
                           BodyReader source, std::optional<std::uint64_t> size) {
    Request request = raw_put(file_at(space, vfs, path));
    request.source = std::move(source);
    request.source_size = size;
    return nothing_of(ask(request));
}

Result<void> Client::make_folder(const std::string& space, const std::string& vfs,
                                 std::string_view path) {
    json::object body;
    body["operation"] = "makeFolder";
    return nothing_of(post(file_at(space, vfs, path), std::move(body)));
}

Result<void> Client::move(const std::string& space, const std::string& vfs, std::string_view from,
                          const std::string& to) {
    json::object body;
    body["operation"] = "move";
    body["to"] = to;
    return nothing_of(post(file_at(space, vfs, from), std::move(body)));
}

Result<void> Client::remove(const std::string& space, const std::string& vfs, std::string_view path,
                            bool recursive) {
    return remove_at(file_at(space, vfs, path) + (recursive ? "?recursive=true" : ""));
}

// ---- secrets --------------------------------------------------------------------------------

Result<std::vector<Named>> Client::secrets(const std::string& space) {
    return names_of(get(at(space, "secrets")));
}

Result<void> Client::set_secret(const std::string& space, const std::string& name,
                                std::string value) {
    Request request = raw_put(at(space, "secrets", name));
    request.body = std::move(value);
    return nothing_of(ask(request));
}

Result<void> Client::delete_secret(const std::string& space, const std::string& name) {
    return remove_at(at(space, "secrets", name));
}

// ---- capsules -------------------------------------------------------------------------------

Result<DeployReport> Client::deploy(const std::string& space,
                                    const std::vector<SourceFile>& files) {
    json::array sources;
    for (const SourceFile& file : files) {
        json::object source;
        source["path"] = file.path;
        source["content"] = file.content;
        sources.push_back(std::move(source));
    }
    json::object document;
    document["files"] = std::move(sources);

    Request request;
    request.method = "POST";
    request.target = at(space, "deploy");
    request.headers.emplace_back("Content-Type", "application/json");
    request.body = json::serialize(document);
    TRY(const ResponseHead head, connection_.send(request));
    TRY(const std::string body, connection_.read_rest(16u << 20));
    TRY(const json::value answer, protocol::parse_json(body));
    if (head.status < 400) return read_deploy_report(answer);

    DeployReport refused;
    if (answer.is_object()) {
        refused.diagnostics = read_diagnostics(answer.get_object());
        refused.document = answer.get_object();
    }
    if (refused.diagnostics.empty()) return fail(read_problem(head, body));
    return refused;
}

Result<std::vector<Named>> Client::capsules(const std::string& space) {
    return names_of(get(at(space, "capsules")));
}

Result<Named> Client::capsule(const std::string& space, const std::string& name) {
    return named_of(get(at(space, "capsules", name)));
}

Result<void> Client::delete_capsule(const std::string& space, const std::string& name) {
    return remove_at(at(space, "capsules", name));
}

}  // namespace sdk
