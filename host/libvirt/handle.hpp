#pragma once
// Owning handles for libvirt's reference-counted objects, and its last error as a Failure. Every
// raw pointer from libvirt is put into one of these on the line that receives it.

#include "protocol/base/failure.hpp"

#include <memory>
#include <string>

#include <libvirt/libvirt.h>

namespace host::libvirt {

template <auto Free>
struct Release {
    template <typename T>
    void operator()(T* object) const noexcept {
        Free(object);
    }
};

// virConnectClose drops one reference; libvirt keeps its own for callbacks still registered.
using ConnectHandle = std::unique_ptr<virConnect, Release<virConnectClose>>;
using DomainHandle = std::unique_ptr<virDomain, Release<virDomainFree>>;

// The calling thread's last libvirt error. Kinds come from its code and origin, never from its
// text; the text is kept for people.
protocol::Failure last_failure(std::string what);
bool last_error_is(int code);

}  // namespace host::libvirt
