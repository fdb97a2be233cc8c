#include "host/libvirt/kvm_access.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <linux/posix_acl.h>
#include <linux/posix_acl_xattr.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <vector>

namespace host::libvirt {
namespace {

using protocol::Failure;
using protocol::Kind;

constexpr char device[] = "/dev/kvm";
constexpr char attribute[] = "system.posix_acl_access";
constexpr std::size_t attribute_limit = 65'536;
constexpr std::uint16_t read_write = ACL_READ | ACL_WRITE;

using Entry = posix_acl_xattr_entry;
// The kernel's numbers are little-endian, as is the only architecture this is built for.
static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__);

Entry make_entry(std::uint16_t tag, unsigned permissions, std::uint32_t id) {
    Entry entry{};
    entry.e_tag = tag;
    entry.e_perm = static_cast<std::uint16_t>(permissions);
    entry.e_id = id;
    return entry;
}

// What a mode says, as a list.
std::vector<Entry> from_mode(mode_t mode) {
    const auto none = static_cast<std::uint32_t>(ACL_UNDEFINED_ID);
    return {make_entry(ACL_USER_OBJ, (mode >> 6) & 7, none),
            make_entry(ACL_GROUP_OBJ, (mode >> 3) & 7, none),
            make_entry(ACL_OTHER, mode & 7, none)};
}

bool read_entries(std::string_view acl, std::vector<Entry>& into) {
    posix_acl_xattr_header header{};
    if (acl.size() < sizeof header || (acl.size() - sizeof header) % sizeof(Entry) != 0)
        return false;
    std::memcpy(&header, acl.data(), sizeof header);
    if (header.a_version != POSIX_ACL_XATTR_VERSION) return false;
    acl.remove_prefix(sizeof header);
    into.resize(acl.size() / sizeof(Entry));
    std::memcpy(into.data(), acl.data(), acl.size());
    return true;
}

std::string write_entries(const std::vector<Entry>& entries) {
    posix_acl_xattr_header header{};
    header.a_version = POSIX_ACL_XATTR_VERSION;
    std::string acl(sizeof header + entries.size() * sizeof(Entry), '\0');
    std::memcpy(acl.data(), &header, sizeof header);
    std::memcpy(acl.data() + sizeof header, entries.data(), entries.size() * sizeof(Entry));
    return acl;
}

Entry* find(std::vector<Entry>& entries, std::uint16_t tag) {
    const auto found = std::ranges::find(entries, tag, &Entry::e_tag);
    return found == entries.end() ? nullptr : &*found;
}

}  // namespace

std::string acl_with_group(std::string_view acl, mode_t mode, gid_t group) {
    std::vector<Entry> entries = from_mode(mode);
    if (!acl.empty() && !read_entries(acl, entries)) return {};
    const Entry* owning_group = find(entries, ACL_GROUP_OBJ);
    if (owning_group == nullptr) return {};
    const unsigned of_owning_group = owning_group->e_perm;

    const auto named = std::ranges::find_if(entries, [group](const Entry& entry) {
        return entry.e_tag == ACL_GROUP && entry.e_id == group;
    });
    if (named == entries.end()) {
        entries.push_back(make_entry(ACL_GROUP, read_write, group));
    } else {
        named->e_perm |= read_write;
    }
    // The mask bounds all named entries and the owning group.
    if (Entry* mask = find(entries, ACL_MASK)) {
        mask->e_perm |= read_write;
    } else {
        entries.push_back(make_entry(ACL_MASK, of_owning_group | read_write,
                                     static_cast<std::uint32_t>(ACL_UNDEFINED_ID)));
    }
    // The order that the kernel wants.
    std::ranges::sort(entries, [](const Entry& left, const Entry& right) {
        return left.e_tag != right.e_tag ? left.e_tag < right.e_tag : left.e_id < right.e_id;
    });
    return write_entries(entries);
}

protocol::Result<void> let_group_use_kvm(gid_t group) {
    struct stat status {};
    if (::stat(device, &status) != 0) {
        return protocol::fail(Failure::from_errno(std::string("looking at ") + device, errno));
    }
    constexpr mode_t others = S_IROTH | S_IWOTH;
    constexpr mode_t owners = S_IRGRP | S_IWGRP;
    if ((status.st_mode & others) == others) return {};
    if (status.st_gid == group && (status.st_mode & owners) == owners) return {};

    std::array<char, attribute_limit> buffer{};
    const ssize_t size = ::getxattr(device, attribute, buffer.data(), buffer.size());
    const std::string_view now(buffer.data(), size < 0 ? 0 : static_cast<std::size_t>(size));
    const std::string wanted = acl_with_group(now, status.st_mode, group);
    if (wanted == now && !wanted.empty()) return {};
    if (wanted.empty() || ::setxattr(device, attribute, wanted.data(), wanted.size(), 0) != 0) {
        const std::string why = wanted.empty() ? "its access control list is not understood"
                                               : std::string(std::strerror(errno));
        return protocol::fail(Kind::unavailable,
                              std::string(device) + " cannot be opened up for machines (" + why +
                                  "): make it readable and writable for the group libvirt-qemu, "
                                  "or for all");
    }
    return {};
}

}  // namespace host::libvirt
