// Files of a VFS. Everything that touches the disk happens on the worker pool.

#include "host/api/byte_range.hpp"
#include "host/api/exchange.hpp"
#include "host/api/handlers.hpp"
#include "host/api/problem.hpp"
#include "host/api/records_json.hpp"
#include "host/storage/vfs_files.hpp"

#include <cerrno>
#include <unistd.h>

#include <boost/describe.hpp>

namespace host::api {

namespace json = boost::json;
using protocol::fail;
using protocol::Failure;
using protocol::Kind;
using protocol::Result;
using sandbox::on_workers;
using storage::VfsFiles;

namespace {

struct FileOperation {
    FileOperation() = default;
    std::string operation;
    std::optional<std::string> to;
};
BOOST_DESCRIBE_STRUCT(FileOperation, (), (operation, to))

// Where the VFS of the request lies on the host; checks that the principal may see it.
Result<std::string> folder_of(Exchange& exchange) {
    TRY(const auto name, exchange.qualified("vfs"));
    TRY(const auto record, exchange.service().vfs(exchange.principal(), name));
    return exchange.shared().folders.path(record.folder);
}

// What a GET finds: exactly one of file and listing, or only the entry.
struct Found {
    Found() = default;
    storage::VfsEntry entry;
    std::optional<std::vector<storage::VfsEntry>> listing;
    protocol::UniqueFd file;
};
enum class Want : std::uint8_t { entry, content };

Result<Found> look_up(const std::string& folder, const std::string& path, Want want) {
    TRY(const VfsFiles files, VfsFiles::open(folder));
    Found found;
    TRY(found.entry, files.stat(path));
    if (want == Want::entry) return found;
    if (found.entry.type == storage::VfsEntry::Type::folder) {
        TRY(found.listing, files.list(path));
        return found;
    }
    TRY(auto opened, files.read(path));
    found.file = std::move(opened.first);
    found.entry = std::move(opened.second);
    return found;
}

Result<std::string> read_at(int fd, std::uint64_t offset, std::size_t size) {
    std::string bytes(size, '\0');
    std::size_t filled = 0;
    while (filled < size) {
        const ssize_t step =
            ::pread(fd, bytes.data() + filled, size - filled, static_cast<off_t>(offset + filled));
        if (step < 0 && errno == EINTR) continue;
        if (step < 0) return fail(Failure::from_errno("reading a file of a VFS", errno));
        if (step == 0) break;
        filled += static_cast<std::size_t>(step);
    }
    bytes.resize(filled);
    return bytes;
}

Answering send_file(Exchange& exchange, const Found& found) {
    const std::uint64_t size = found.entry.size;
    const std::string* field = exchange.head().field("Range");
    // Without validators of ours, If-Range can never hold: then the whole file is the right answer.
    if (exchange.head().field("If-Range")) field = nullptr;
    const ByteRange range = field ? parse_range(*field, size) : ByteRange();
    if (range.what == ByteRange::What::unsatisfiable) {
        Response refusal =
            problem("range-not-satisfiable", "the file has " + std::to_string(size) + " bytes");
        refusal.fields.emplace_back("Content-Range", "bytes */" + std::to_string(size));
        co_return refusal;
    }
    Fields fields;
    fields.emplace_back("Content-Type", "application/octet-stream");
    fields.emplace_back("Accept-Ranges", "bytes");
    const bool part = range.what == ByteRange::What::part;
    std::uint64_t offset = part ? range.first : 0;
    std::uint64_t left = part ? range.length : size;
    if (part) {
        fields.emplace_back("Content-Range", "bytes " + std::to_string(offset) + "-" +
                                                 std::to_string(offset + left - 1) + "/" +
                                                 std::to_string(size));
    }
    const auto begun = co_await exchange.begin(part ? 206 : 200, std::move(fields), left);
    if (!begun) co_return fail(begun.error());
    if (!*begun) co_return Response::sent();
    while (left > 0) {
        const auto wanted =
            static_cast<std::size_t>(std::min<std::uint64_t>(left, limits::piece_bytes));
        auto job = [fd = found.file.get(), offset, wanted] { return read_at(fd, offset, wanted); };
        auto piece = co_await on_workers(*exchange.shared().workers, std::move(job));
        if (!piece) co_return fail(std::move(piece).error());
        // Shortened while it was read: the length that was promised cannot be kept.
        if (piece->size() < wanted) co_return Response::cut();
        const auto sent = co_await exchange.send(std::move(*piece));
        if (!sent) co_return fail(sent.error());
        offset += wanted;
        left -= wanted;
    }
    co_return Response::sent();
}

}  // namespace

Answering get_file(Exchange& exchange) {
    CO_TRY(const std::string folder, folder_of(exchange));
    CO_TRY(const bool stat_only, exchange.flag("stat"));
    const Want want = stat_only ? Want::entry : Want::content;
    auto job = [folder, path = exchange.segment("path"), want] {
        return look_up(folder, path, want);
    };
    auto found = co_await on_workers(*exchange.shared().workers, std::move(job));
    if (!found) co_return fail(std::move(found).error());
    if (want == Want::entry) co_return Response::json(200, to_json(found->entry));
    if (!found->listing) co_return co_await send_file(exchange, *found);
    json::array entries;
    entries.reserve(found->listing->size());
    for (const auto& entry : *found->listing) entries.push_back(to_json(entry));
    json::object body;
    body["entries"] = std::move(entries);
    co_return Response::json(200, body);
}

Answering put_file(Exchange& exchange) {
    CO_TRY(const std::string folder, folder_of(exchange));
    sandbox::Workers& workers = *exchange.shared().workers;
    auto open = [folder, path = exchange.segment("path")]() -> Result<storage::VfsWriter> {
        TRY(const VfsFiles files, VfsFiles::open(folder));
        return files.write(path);
    };
    auto writer = co_await on_workers(workers, std::move(open));
    if (!writer) co_return fail(std::move(writer).error());
    while (true) {
        auto piece = co_await exchange.body_piece(exchange.shared().options.idle_timeout);
        if (!piece) co_return fail(std::move(piece).error());
        if (piece->empty()) break;
        auto job = [&target = *writer, bytes = std::move(*piece)] { return target.write(bytes); };
        const auto written = co_await on_workers(workers, std::move(job));
        if (!written) co_return fail(written.error());
    }
    auto finish = [&target = *writer] { return target.commit(); };
    const auto replaced = co_await on_workers(workers, std::move(finish));
    if (!replaced) co_return fail(replaced.error());
    co_return Response(*replaced ? 204 : 201);
}

Answering post_file(Exchange& exchange) {
    CO_TRY(const std::string folder, folder_of(exchange));
    auto body = co_await exchange.json_body<FileOperation>();
    if (!body) co_return fail(std::move(body).error());
    const bool move = body->operation == "move";
    if (!move && body->operation != "makeFolder") {
        co_return fail(Kind::invalid_argument, "$.operation: expected \"makeFolder\" or \"move\"");
    }
    if (move != body->to.has_value()) {
        co_return fail(Kind::invalid_argument, "$.to: needed by \"move\", and only there");
    }
    auto job = [folder, path = exchange.segment("path"), to = body->to]() -> Result<void> {
        TRY(const VfsFiles files, VfsFiles::open(folder));
        return to ? files.move(path, *to) : files.make_folder(path);
    };
    const auto done = co_await on_workers(*exchange.shared().workers, std::move(job));
    if (!done) co_return fail(done.error());
    co_return Response(move ? 204 : 201);
}

Answering delete_file(Exchange& exchange) {
    CO_TRY(const std::string folder, folder_of(exchange));
    CO_TRY(const bool recursive, exchange.flag("recursive"));
    auto job = [folder, path = exchange.segment("path"), recursive]() -> Result<void> {
        TRY(const VfsFiles files, VfsFiles::open(folder));
        return files.remove(path, recursive);
    };
    const auto done = co_await on_workers(*exchange.shared().workers, std::move(job));
    if (!done) co_return fail(done.error());
    co_return Response(204);
}

}  // namespace host::api
