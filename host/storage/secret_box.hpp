#pragma once
// SecretBox: seals secret values for the database with libsodium's XSalsa20-Poly1305
// (crypto_secretbox). The key lies in a root-only file outside the state folder and is made on
// first use. The qualified name is bound into each sealed value, so that rows cannot be swapped.

#include "protocol/base/result.hpp"

#include <string>
#include <string_view>

namespace host::storage {

class SecretBox {
  public:
    // Reads the key or makes one (0400). Fails when the file is readable by others.
    static protocol::Result<SecretBox> open(const std::string& key_file);
    std::string seal(std::string_view name, std::string_view value) const;
    // io with "cannot be opened with this key" when key or row are not the ones it was sealed with.
    protocol::Result<std::string> open_sealed(std::string_view name, std::string_view sealed) const;
    ~SecretBox();
    SecretBox(SecretBox&&) noexcept;

  private:
    explicit SecretBox(std::string key);
    std::string key_;  // wiped on destruction
};

}  // namespace host::storage
