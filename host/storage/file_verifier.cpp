#include "host/storage/file_verifier.hpp"

#include "host/storage/os_failure.hpp"
#include "protocol/base/unique_fd.hpp"

#include <array>
#include <cerrno>
#include <fcntl.h>
#include <filesystem>
#include <gnutls/crypto.h>
#include <memory>
#include <optional>
#include <sys/stat.h>
#include <tuple>
#include <type_traits>
#include <unistd.h>
#include <vector>

#include <fmt/format.h>

namespace host::storage {

using protocol::Kind;
using protocol::Result;
using protocol::UniqueFd;

namespace {

constexpr std::size_t piece_bytes = 1u << 20;

// What tells one file from another without reading it. The change time cannot be set by hand.
using Identity = std::tuple<dev_t, ino_t, off_t, std::int64_t, std::int64_t>;

std::int64_t nanoseconds(const timespec& time) {
    return std::int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec;
}

Result<Identity> identity_of(int fd, const std::string& path) {
    struct stat status {};
    if (::fstat(fd, &status) != 0) return protocol::fail(os_failure(path, errno));
    return Identity(status.st_dev, status.st_ino, status.st_size, nanoseconds(status.st_mtim),
                    nanoseconds(status.st_ctim));
}

Result<std::string> sha256_of(int fd, const std::string& path) {
    // Of GnuTLS, which libvirt has loaded anyway and which uses the processor's own instructions:
    // libsodium needs 14 times as long, libcrypto 3 MiB of memory more for as long as we run.
    gnutls_hash_hd_t raw = nullptr;
    if (gnutls_hash_init(&raw, GNUTLS_DIG_SHA256) != 0) {
        return protocol::fail(Kind::internal, "SHA-256 is not available in GnuTLS");
    }
    constexpr auto drop = [](gnutls_hash_hd_t hash) { gnutls_hash_deinit(hash, nullptr); };
    const std::unique_ptr<std::remove_pointer_t<gnutls_hash_hd_t>, decltype(drop)> hash(raw, drop);
    ::posix_fadvise(fd, 0, 0, POSIX_FADV_SEQUENTIAL);
    std::vector<unsigned char> piece(piece_bytes);
    for (;;) {
        const ssize_t count = ::read(fd, piece.data(), piece.size());
        if (count < 0 && errno == EINTR) continue;
        if (count < 0) return protocol::fail(os_failure("reading " + path, errno));
        if (count == 0) break;
        gnutls_hash(hash.get(), piece.data(), static_cast<std::size_t>(count));
    }
    std::array<unsigned char, 32> digest{};
    gnutls_hash_output(hash.get(), digest.data());
    std::string text;
    for (const unsigned char byte : digest) text += fmt::format("{:02x}", byte);
    return text;
}

protocol::Failure damaged(const std::string& path, const std::string& why) {
    const std::filesystem::path folder = std::filesystem::path(path).parent_path();
    const std::string id = folder.filename().native();
    return protocol::Failure::with_code(
        Kind::io, "image-damaged",
        fmt::format("{} {}; remove the folder {} and build it again: mt image build {}", path, why,
                    folder.native(), id.substr(0, id.rfind('-'))));
}

}  // namespace

struct FileVerifier::Known {
    std::mutex mutex;  // held while the file is read
    std::optional<Identity> right;
};

std::shared_ptr<FileVerifier::Known> FileVerifier::known(const std::string& path) {
    const std::lock_guard lock(mutex_);
    auto& entry = files_[path];
    if (!entry) entry = std::make_shared<Known>();
    return entry;
}

Result<void> FileVerifier::check(const sandbox::FileDigest& file) {
    const std::string& path = file.path.value;
    const auto entry = known(path);
    const std::lock_guard reading(entry->mutex);
    const UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW));
    if (!fd) return protocol::fail(os_failure("opening " + path, errno));
    TRY(const Identity identity, identity_of(fd.get(), path));
    if (entry->right == identity) return {};
    if (file.sha256.empty()) {
        return protocol::fail(damaged(path, "is not described by its manifest"));
    }
    if (const auto size = static_cast<std::uint64_t>(std::get<2>(identity)); size != file.size) {
        return protocol::fail(
            damaged(path, fmt::format("has {} bytes, its manifest says {}", size, file.size)));
    }
    {
        const std::lock_guard lock(mutex_);
        ++files_read_;
    }
    TRY(const std::string found, sha256_of(fd.get(), path));
    if (found != file.sha256) {
        return protocol::fail(damaged(
            path, fmt::format("has the digest {}, its manifest says {}", found, file.sha256)));
    }
    entry->right = identity;
    return {};
}

std::size_t FileVerifier::files_read() const {
    const std::lock_guard lock(mutex_);
    return files_read_;
}

}  // namespace host::storage
