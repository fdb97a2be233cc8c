#include "sdk/mt/transfer.hpp"

#include "protocol/base/unique_fd.hpp"
#include "sdk/mt/output.hpp"

#include <algorithm>
#include <fcntl.h>
#include <filesystem>
#include <sys/stat.h>
#include <unistd.h>

namespace mt {
namespace {

namespace fs = std::filesystem;
using protocol::fail;
using protocol::Failure;
using protocol::Kind;
using protocol::UniqueFd;

constexpr int folder_depth = 256;

bool is_folder(const std::string& path) {
    std::error_code error;
    return fs::is_directory(path, error);
}

}  // namespace

// ---- paths ----------------------------------------------------------------------------------

std::string join_path(const std::string& folder, const std::string& name) {
    std::string joined = "/" + folder + "/" + name;
    std::string clean;
    for (const char character : joined) {
        if (character == '/' && clean.ends_with('/')) continue;
        clean.push_back(character);
    }
    if (clean.size() > 1 && clean.ends_with('/')) clean.pop_back();
    return clean;
}

std::string last_part(const std::string& path) {
    std::string clean = path;
    while (clean.size() > 1 && clean.ends_with('/')) clean.pop_back();
    return clean.substr(clean.rfind('/') + 1);
}

bool is_plain_file_name(const std::string& name) {
    return !name.empty() && name != "." && name != ".." && name.find('/') == std::string::npos &&
           name.find('\0') == std::string::npos;
}

// ---- progress -------------------------------------------------------------------------------

TransferProgress::~TransferProgress() {
    if (drawn_) write_all(STDERR_FILENO, "\r\033[K");
}

void TransferProgress::begin(const std::string& name, std::optional<std::uint64_t> size) {
    name_ = presentable(name, true);
    size_ = size;
    done_ = 0;
}

void TransferProgress::advance(std::uint64_t bytes) {
    done_ += bytes;
    const auto now = std::chrono::steady_clock::now();
    if (!show_ || now - last_ < std::chrono::milliseconds(100)) return;
    last_ = now;
    draw();
}

void TransferProgress::draw() {
    std::string line = "\r\033[K" + name_ + "  " + format_size(done_);
    if (size_ && *size_ > 0) {
        line += " of " + format_size(*size_) + "  " +
                std::to_string(std::min<std::uint64_t>(100, done_ * 100 / *size_)) + " %";
    }
    write_all(STDERR_FILENO, line);
    drawn_ = true;
}

// ---- up -------------------------------------------------------------------------------------

Transfer::Transfer(sdk::Client& client, std::string space, std::string vfs, bool show_progress)
    : client_(client), space_(std::move(space)), vfs_(std::move(vfs)), progress_(show_progress) {}

void Transfer::leave_out(const std::string& name, std::string_view why) {
    ++totals_.left_out;
    write_all(STDERR_FILENO, "mt: left out " + presentable(name, is_terminal(STDERR_FILENO)) +
                                 ": " + std::string(why) + "\n");
}

Result<void> Transfer::put_stream(int fd, const std::string& name, const std::string& target,
                                  std::optional<std::uint64_t> size) {
    progress_.begin(name, size);
    std::uint64_t left = size.value_or(0);
    const auto source = [&](char* data, std::size_t room) -> Result<std::size_t> {
        // A file that grows meanwhile is sent as long as it was: its length is already announced.
        if (size) room = static_cast<std::size_t>(std::min<std::uint64_t>(room, left));
        if (room == 0) return 0;
        ssize_t count = 0;
        do {
            count = ::read(fd, data, room);
        } while (count < 0 && errno == EINTR);
        if (count < 0) return fail(Failure::from_errno("read " + name, errno));
        if (count == 0 && size) return fail(Kind::io, name + " became shorter while it was read");
        const auto bytes = static_cast<std::uint64_t>(count);
        left -= size ? bytes : 0;
        totals_.bytes += bytes;
        progress_.advance(bytes);
        return static_cast<std::size_t>(bytes);
    };
    TRY_VOID(client_.write(space_, vfs_, target, source, size));
    ++totals_.files;
    return {};
}

Result<void> Transfer::put_file(const std::string& source, const std::string& target) {
    // O_NONBLOCK: a fifo must not hold us up before it is refused.
    const UniqueFd fd(::open(source.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
    if (!fd) return fail(Failure::from_errno("open " + source, errno));
    struct stat status {};
    if (::fstat(fd.get(), &status) != 0) return fail(Failure::from_errno("stat " + source, errno));
    if (!S_ISREG(status.st_mode)) {
        return fail(Kind::invalid_argument, source + " is not a file or folder");
    }
    return put_stream(fd.get(), source, target, static_cast<std::uint64_t>(status.st_size));
}

Result<void> Transfer::put_folder(const std::string& source, const std::string& target) {
    if (target != "/") TRY_VOID(client_.make_folder(space_, vfs_, target));
    std::error_code error;
    fs::recursive_directory_iterator it(source, error), end;
    for (; !error && it != end; it.increment(error)) {
        const fs::path& path = it->path();
        const std::string to = join_path(target, path.lexically_relative(source).generic_string());
        std::error_code ignored;
        const fs::file_status status = it->symlink_status(ignored);
        if (status.type() == fs::file_type::directory) {
            TRY_VOID(client_.make_folder(space_, vfs_, to));
            ++totals_.folders;
        } else if (status.type() == fs::file_type::regular) {
            TRY_VOID(put_file(path.string(), to));
        } else {
            leave_out(path.string(),
                      status.type() == fs::file_type::symlink ? "a link" : "not a file");
        }
    }
    if (error) return fail(Kind::io, source + ": " + error.message());
    return {};
}

Result<void> Transfer::put(const std::string& source, const std::string& target) {
    const bool from_input = source == "-";
    if (from_input && (target.empty() || target.ends_with('/'))) {
        return fail(Kind::invalid_argument, "standard input needs the name of a TARGET");
    }
    const bool contents = !from_input && source.ends_with('/');
    if (!from_input && contents && !is_folder(source)) {
        return fail(Kind::invalid_argument, source + " is not a folder");
    }
    std::string name;
    if (!from_input) {
        // "." and "..": the folder's real name.
        std::error_code error;
        name = fs::weakly_canonical(source, error).filename().string();
        if (name.empty())
            name = fs::weakly_canonical(source, error).parent_path().filename().string();
    }

    std::string to = join_path(target, "");
    if (!contents && !from_input) {
        bool into = target.empty() || target.ends_with('/');
        if (!into) {
            const auto there = client_.stat(space_, vfs_, to);
            into = there && there->type == "folder";
        }
        if (into) to = join_path(to, name);
    }
    if (from_input) return put_stream(STDIN_FILENO, "standard input", to, std::nullopt);
    if (is_folder(source)) return put_folder(source, to);
    return put_file(source, to);
}

// ---- down -----------------------------------------------------------------------------------

namespace {

// A file under a temporary name that takes its place at the end, so that nobody sees half of it.
class LocalWriter {
  public:
    static Result<LocalWriter> open(const std::string& target) {
        LocalWriter writer;
        writer.target_ = target;
        const fs::path folder = fs::path(target).parent_path();
        writer.temporary_ = (folder.empty() ? fs::path(".") : folder) / ".mt-XXXXXX";
        writer.fd_ = UniqueFd(::mkostemp(writer.temporary_.data(), O_CLOEXEC));
        if (!writer.fd_) {
            writer.temporary_.clear();
            return fail(Failure::from_errno("write into " + folder.string(), errno));
        }
        return writer;
    }
    LocalWriter(LocalWriter&& other) noexcept
        : target_(std::move(other.target_)),
          temporary_(std::exchange(other.temporary_, {})),
          fd_(std::move(other.fd_)) {}
    LocalWriter& operator=(LocalWriter&&) = delete;
    ~LocalWriter() {
        if (!temporary_.empty()) ::unlink(temporary_.c_str());
    }

    Result<void> write(std::string_view bytes) {
        if (write_all(fd_.get(), bytes)) return {};
        return fail(Failure::from_errno("write " + target_, errno));
    }
    Result<void> commit() {
        const mode_t mask = ::umask(0);
        ::umask(mask);
        ::fchmod(fd_.get(), 0666 & ~mask);
        if (::rename(temporary_.c_str(), target_.c_str()) != 0) {
            return fail(Failure::from_errno("write " + target_, errno));
        }
        temporary_.clear();
        return {};
    }

  private:
    LocalWriter() = default;
    std::string target_, temporary_;
    UniqueFd fd_;
};

}  // namespace

Result<void> Transfer::get_to_output(const std::string& path) {
    return client_.read(space_, vfs_, path, [&](std::string_view bytes) -> Result<void> {
        totals_.bytes += bytes.size();
        if (write_all(STDOUT_FILENO, bytes)) return {};
        return fail(Failure::from_errno("write to standard output", errno));
    });
}

Result<void> Transfer::get_file(const std::string& path, const std::string& target) {
    TRY(LocalWriter writer, LocalWriter::open(target));
    progress_.begin(path, std::nullopt);
    TRY_VOID(client_.read(space_, vfs_, path, [&](std::string_view bytes) -> Result<void> {
        totals_.bytes += bytes.size();
        progress_.advance(bytes.size());
        return writer.write(bytes);
    }));
    TRY_VOID(writer.commit());
    ++totals_.files;
    return {};
}

Result<void> Transfer::get_folder(const std::string& path, const std::string& target) {
    if (std::count(path.begin(), path.end(), '/') > folder_depth) {
        return fail(Kind::too_large, "folders are nested too deeply");
    }
    std::error_code error;
    fs::create_directories(target, error);
    if (error) return fail(Kind::io, "make folder " + target + ": " + error.message());
    TRY(const auto entries, client_.list(space_, vfs_, path));
    for (const sdk::VfsEntry& entry : entries) {
        const std::string from = join_path(path, entry.name);
        if (!is_plain_file_name(entry.name)) {
            leave_out(from, "its name leads elsewhere");
            continue;
        }
        const std::string to = target + "/" + entry.name;
        if (entry.type == "folder") {
            TRY_VOID(get_folder(from, to));
            ++totals_.folders;
        } else if (entry.type == "file") {
            TRY_VOID(get_file(from, to));
        } else {
            leave_out(from, entry.type == "link" ? "a link" : "not a file");
        }
    }
    return {};
}

Result<void> Transfer::get(const std::string& path, const std::string& target) {
    const std::string from = join_path(path, "");
    TRY(const sdk::VfsEntry entry, client_.stat(space_, vfs_, from));
    const bool folder = entry.type == "folder";
    if (target == "-") {
        if (folder) return fail(Kind::invalid_argument, from + " is a folder; it needs a TARGET");
        return get_to_output(from);
    }
    if (!folder && entry.type != "file") {
        return fail(Kind::invalid_argument, from + " is a " + entry.type);
    }
    const bool contents = folder && (path.ends_with('/') || from == "/");
    const std::string name = last_part(from);
    std::string to = target.empty() ? (contents ? "." : name) : target;
    if (!contents && !target.empty() && (target.ends_with('/') || is_folder(target))) {
        to = (fs::path(target) / name).string();
    }
    return folder ? get_folder(from, to) : get_file(from, to);
}

}  // namespace mt
