#include "host/storage/secret_box.hpp"

#include "host/storage/os_failure.hpp"
#include "protocol/base/ids.hpp"
#include "protocol/base/unique_fd.hpp"

#include <array>
#include <cerrno>
#include <fcntl.h>
#include <filesystem>
#include <sys/stat.h>
#include <unistd.h>

#include <sodium.h>

namespace host::storage {
namespace {

using protocol::Failure;
using protocol::Kind;
using protocol::Result;
using protocol::UniqueFd;

constexpr std::size_t key_bytes = crypto_secretbox_KEYBYTES;
static_assert(key_bytes <= crypto_generichash_BYTES_MAX &&
              key_bytes >= crypto_generichash_KEYBYTES_MIN);
// First byte of every sealed value: how the rest is made. 1 = nonce, then crypto_secretbox under a
// key derived from the name.
constexpr char format = 1;

// libsodium works on unsigned char.
const unsigned char* bytes(std::string_view text) {
    return reinterpret_cast<const unsigned char*>(text.data());
}
unsigned char* bytes(std::string& text) {
    return reinterpret_cast<unsigned char*>(text.data());
}

// secretbox has no place for associated data, so each name gets a key of its own: a value moved to
// another name does not open.
class NameKey {
  public:
    NameKey(const std::string& master, std::string_view name) {
        crypto_generichash(key_.data(), key_.size(), bytes(name), name.size(), bytes(master),
                           master.size());
    }
    ~NameKey() { sodium_memzero(key_.data(), key_.size()); }
    NameKey(const NameKey&) = delete;
    NameKey& operator=(const NameKey&) = delete;
    const unsigned char* data() const { return key_.data(); }

  private:
    std::array<unsigned char, key_bytes> key_{};
};

Result<std::string> read_key(int fd, const std::string& file) {
    struct stat status {};
    if (fstat(fd, &status) != 0) return protocol::fail(os_failure("reading " + file, errno));
    if (!S_ISREG(status.st_mode) || status.st_uid != geteuid() || (status.st_mode & 077) != 0) {
        return protocol::fail(Kind::forbidden,
                              file + " must be a file that its owner alone can read: chown " +
                                  std::to_string(geteuid()) + " " + file + " && chmod 400 " + file);
    }
    std::string key(key_bytes + 1, '\0');
    const ssize_t count = read(fd, key.data(), key.size());
    if (count != static_cast<ssize_t>(key_bytes)) {
        sodium_memzero(key.data(), key.size());
        return protocol::fail(Kind::io, file + " is not a secret key: it must have 32 bytes");
    }
    key.resize(key_bytes);
    return key;
}

// Written under another name and linked into place, so that a crash leaves no half key and two
// daemons starting at once agree on one.
Result<void> make_key(const std::string& file) {
    std::error_code error;
    std::filesystem::create_directories(std::filesystem::path(file).parent_path(), error);
    const std::string temporary = file + "." + protocol::RunId::random().str();
    const UniqueFd fd(open(temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0400));
    if (!fd) return protocol::fail(os_failure("making " + file, errno));
    std::array<unsigned char, key_bytes> key{};
    randombytes_buf(key.data(), key.size());
    const bool written =
        write(fd.get(), key.data(), key.size()) == static_cast<ssize_t>(key.size()) &&
        fsync(fd.get()) == 0;
    sodium_memzero(key.data(), key.size());
    const int write_error = errno;
    const bool linked = written && (link(temporary.c_str(), file.c_str()) == 0 || errno == EEXIST);
    const int link_error = errno;
    unlink(temporary.c_str());
    if (linked) return {};
    return protocol::fail(os_failure("making " + file, written ? link_error : write_error));
}

}  // namespace

Result<SecretBox> SecretBox::open(const std::string& key_file) {
    if (sodium_init() < 0) return protocol::fail(Kind::internal, "libsodium cannot be initialised");
    for (const bool may_make : {true, false}) {
        const UniqueFd fd(::open(key_file.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW));
        if (fd) {
            TRY(auto key, read_key(fd.get(), key_file));
            return SecretBox(std::move(key));
        }
        if (errno != ENOENT || !may_make) break;
        TRY_VOID(make_key(key_file));
    }
    return protocol::fail(os_failure("opening " + key_file, errno));
}

SecretBox::SecretBox(std::string key) : key_(std::move(key)) {}
// The key is longer than a string keeps in place, so moving moves the one copy.
SecretBox::SecretBox(SecretBox&&) noexcept = default;
SecretBox::~SecretBox() {
    sodium_memzero(key_.data(), key_.size());
}

std::string SecretBox::seal(std::string_view name, std::string_view value) const {
    const NameKey key(key_, name);
    std::string sealed(1 + crypto_secretbox_NONCEBYTES + crypto_secretbox_MACBYTES + value.size(),
                       '\0');
    sealed[0] = format;
    unsigned char* nonce = bytes(sealed) + 1;
    randombytes_buf(nonce, crypto_secretbox_NONCEBYTES);
    crypto_secretbox_easy(nonce + crypto_secretbox_NONCEBYTES, bytes(value), value.size(), nonce,
                          key.data());
    return sealed;
}

Result<std::string> SecretBox::open_sealed(std::string_view name, std::string_view sealed) const {
    constexpr std::size_t overhead = 1 + crypto_secretbox_NONCEBYTES + crypto_secretbox_MACBYTES;
    const auto refuse = [&] {
        return protocol::fail(Kind::io, "the secret cannot be opened with this key");
    };
    if (sealed.size() < overhead || sealed[0] != format) return refuse();
    const NameKey key(key_, name);
    const unsigned char* nonce = bytes(sealed) + 1;
    std::string value(sealed.size() - overhead, '\0');
    if (crypto_secretbox_open_easy(bytes(value), nonce + crypto_secretbox_NONCEBYTES,
                                   sealed.size() - 1 - crypto_secretbox_NONCEBYTES, nonce,
                                   key.data()) != 0) {
        return refuse();
    }
    return value;
}

}  // namespace host::storage
