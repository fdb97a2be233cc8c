#pragma once
// The daemon's cryptography in the form the service takes it: secrets by storage::SecretBox, API
// keys random and stored as hashes.

#include "host/sandbox/parts.hpp"
#include "host/storage/secret_box.hpp"

#include <memory>

namespace host {

sandbox::Vault make_vault(std::shared_ptr<storage::SecretBox> box);

}  // namespace host
