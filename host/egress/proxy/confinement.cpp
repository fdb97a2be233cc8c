#include "host/egress/proxy/confinement.hpp"

#include "host/egress/proxy/limits.hpp"

#include <cerrno>
#include <grp.h>
#include <linux/capability.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace host::egress {

using protocol::fail;
using protocol::Failure;

namespace {

// A daemon without CAP_SETPCAP cannot pass on the right to do this; then no_new_privs alone keeps
// programs with file capabilities from giving any, which is what the set is for.
protocol::Result<void> empty_bounding_set() {
    // The kernel refuses with EINVAL where its list of capabilities ends.
    for (int capability = 0; ::prctl(PR_CAPBSET_READ, capability, 0, 0, 0) >= 0; ++capability) {
        if (::prctl(PR_CAPBSET_DROP, capability, 0, 0, 0) == 0) continue;
        if (errno == EPERM) return {};
        return fail(Failure::from_errno("emptying the capability bounding set", errno));
    }
    return {};
}

protocol::Result<void> give_up_root(const Identity& identity) {
    if (identity.uid == 0 || identity.gid == 0) {
        return fail(protocol::Kind::invalid_argument,
                    "the proxy does not run as root: give it another user");
    }
    TRY_VOID(empty_bounding_set());
    if (::setgroups(0, nullptr) != 0) return fail(Failure::from_errno("setgroups", errno));
    if (::setresgid(identity.gid, identity.gid, identity.gid) != 0)
        return fail(Failure::from_errno("setresgid", errno));
    if (::setresuid(identity.uid, identity.uid, identity.uid) != 0)
        return fail(Failure::from_errno("setresuid", errno));
    if (::setuid(0) == 0) return fail(protocol::Kind::internal, "root could be had again");
    return {};
}

protocol::Result<void> drop_capabilities() {
    __user_cap_header_struct header{};
    header.version = _LINUX_CAPABILITY_VERSION_3;
    __user_cap_data_struct none[2] = {};
    // No libc wrapper; the structures are the kernel's own.
    if (::syscall(SYS_capset, &header, none) != 0)
        return fail(Failure::from_errno("capset", errno));
    return {};
}

}  // namespace

protocol::Result<void> confine(const Identity& identity) {
    if (::geteuid() == 0) TRY_VOID(give_up_root(identity));
    TRY_VOID(drop_capabilities());
    if (::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0)
        return fail(Failure::from_errno("no_new_privs", errno));
    if (::prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) != 0)
        return fail(Failure::from_errno("PR_SET_DUMPABLE", errno));
    const rlimit no_core{0, 0};
    if (::setrlimit(RLIMIT_CORE, &no_core) != 0)
        return fail(Failure::from_errno("RLIMIT_CORE", errno));
    // Two sockets a connection, and some for resolvers.
    rlimit descriptors{};
    if (::getrlimit(RLIMIT_NOFILE, &descriptors) != 0)
        return fail(Failure::from_errno("RLIMIT_NOFILE", errno));
    const rlim_t wanted = 2 * limits::connections + 256;
    descriptors.rlim_max = descriptors.rlim_max < wanted ? descriptors.rlim_max : wanted;
    descriptors.rlim_cur = descriptors.rlim_max;
    if (::setrlimit(RLIMIT_NOFILE, &descriptors) != 0)
        return fail(Failure::from_errno("RLIMIT_NOFILE", errno));
    ::umask(0077);
    if (::chdir("/") != 0) return fail(Failure::from_errno("chdir", errno));
    return {};
}

}  // namespace host::egress
