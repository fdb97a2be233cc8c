#include "host/libvirt/handle.hpp"

#include "protocol/base/name.hpp"

#include <libvirt/virterror.h>

namespace host::libvirt {
namespace {

using protocol::Kind;

// Everything that the connection itself raises: the daemon went away, or was never there.
bool is_from_connection(int domain) {
    return domain == VIR_FROM_RPC || domain == VIR_FROM_REMOTE;
}

Kind kind_of(const virError& error) {
    switch (error.code) {
        case VIR_ERR_NO_CONNECT:
        case VIR_ERR_INVALID_CONN:
        case VIR_ERR_RPC:
        case VIR_ERR_LIBSSH:
            return Kind::unavailable;
        case VIR_ERR_NO_DOMAIN:
            return Kind::not_found;
        case VIR_ERR_DOM_EXIST:
        case VIR_ERR_OPERATION_INVALID:
            return Kind::conflict;
        case VIR_ERR_OPERATION_TIMEOUT:
            return Kind::timed_out;
        case VIR_ERR_NO_MEMORY:
            return Kind::resource_exhausted;
        case VIR_ERR_AUTH_FAILED:
        case VIR_ERR_AUTH_UNAVAILABLE:
        case VIR_ERR_AUTH_CANCELLED:
        case VIR_ERR_ACCESS_DENIED:
        case VIR_ERR_OPERATION_DENIED:
            return Kind::forbidden;
        case VIR_ERR_CONFIG_UNSUPPORTED:
        case VIR_ERR_NO_SUPPORT:
        case VIR_ERR_ARGUMENT_UNSUPPORTED:
        case VIR_ERR_OPERATION_UNSUPPORTED:
            return Kind::unsupported;
        case VIR_ERR_XML_ERROR:
        case VIR_ERR_XML_DETAIL:
        case VIR_ERR_XML_INVALID_SCHEMA:
        case VIR_ERR_INVALID_ARG:
            return Kind::internal;  // our XML or our call is wrong, whatever the user asked for
        default:
            return is_from_connection(error.domain) ? Kind::unavailable : Kind::io;
    }
}

}  // namespace

protocol::Failure last_failure(std::string what) {
    const virError* error = virGetLastError();
    if (error == nullptr) {
        return protocol::Failure(Kind::internal, std::move(what) + ": libvirt gave no reason");
    }
    // Parts of the text may be a guest's or a user's bytes.
    const std::string text =
        error->message == nullptr ? "no text" : protocol::escape_foreign(error->message, 600);
    return protocol::Failure(kind_of(*error), std::move(what) + ": " + text);
}

bool last_error_is(int code) {
    const virError* error = virGetLastError();
    return error != nullptr && error->code == code;
}

}  // namespace host::libvirt
