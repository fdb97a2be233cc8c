#include "host/vault.hpp"

#include <array>

#include <sodium.h>

namespace host {

namespace {

constexpr std::size_t key_bytes = 32;
// Lets people and scanners for leaked keys see what it is.
constexpr char key_prefix[] = "capsule_";

template <std::size_t size>
std::string hex(const std::array<unsigned char, size>& bytes) {
    std::string text(2 * size + 1, '\0');
    sodium_bin2hex(text.data(), text.size(), bytes.data(), bytes.size());
    text.pop_back();
    return text;
}

std::string random_key() {
    std::array<unsigned char, key_bytes> bytes{};
    randombytes_buf(bytes.data(), bytes.size());
    return key_prefix + hex(bytes);
}

// Keys are 256 random bits: a plain hash is not to be guessed from.
std::string hash(std::string_view text) {
    std::array<unsigned char, crypto_generichash_BYTES> digest{};
    crypto_generichash(digest.data(), digest.size(),
                       reinterpret_cast<const unsigned char*>(text.data()), text.size(), nullptr,
                       0);
    return hex(digest);
}

}  // namespace

sandbox::Vault make_vault(std::shared_ptr<storage::SecretBox> box) {
    sandbox::Vault vault;
    vault.seal = [box](std::string_view name, std::string_view value) {
        return box->seal(name, value);
    };
    vault.open = [box](std::string_view name, std::string_view sealed) {
        return box->open_sealed(name, sealed);
    };
    vault.hash = hash;
    vault.random_key = random_key;
    return vault;
}

}  // namespace host
