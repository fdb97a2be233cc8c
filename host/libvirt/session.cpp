#include "host/libvirt/session.hpp"

#include "host/libvirt/domain_xml.hpp"

#include <optional>
#include <string_view>
#include <vector>

#include <libvirt/virterror.h>

namespace host::libvirt {
namespace {

// What is handed to libvirt as the callbacks' opaque pointer. That of an event is owned by libvirt
// through free_shared: it may call back once more after a deregistration.
using SharedCallbacks = std::shared_ptr<const SessionCallbacks>;

const SessionCallbacks& callbacks_of(void* opaque) {
    return **static_cast<SharedCallbacks*>(opaque);
}

void free_shared(void* opaque) {
    delete static_cast<SharedCallbacks*>(opaque);
}

void tell(void* opaque, virDomain* domain, DomainNews news) {
    const char* name = virDomainGetName(domain);
    if (name == nullptr || !std::string_view(name).starts_with(name_prefix)) return;
    callbacks_of(opaque).news(name, news);
}

std::optional<DomainNews> news_of(int event, int detail) {
    if (event == VIR_DOMAIN_EVENT_CRASHED) return DomainNews::panicked;
    if (event == VIR_DOMAIN_EVENT_RESUMED) return DomainNews::resumed;
    // For other reasons than an administrator's there are other news.
    if (event == VIR_DOMAIN_EVENT_SUSPENDED && detail == VIR_DOMAIN_EVENT_SUSPENDED_PAUSED) {
        return DomainNews::paused;
    }
    if (event != VIR_DOMAIN_EVENT_STOPPED) return std::nullopt;
    switch (detail) {
        case VIR_DOMAIN_EVENT_STOPPED_SHUTDOWN:
            return DomainNews::shut_down;
        case VIR_DOMAIN_EVENT_STOPPED_DESTROYED:
            return DomainNews::destroyed;
        case VIR_DOMAIN_EVENT_STOPPED_CRASHED:
            return DomainNews::crashed;
        default:
            return DomainNews::failed;
    }
}

int on_lifecycle(virConnect*, virDomain* domain, int event, int detail, void* opaque) {
    if (const auto news = news_of(event, detail)) tell(opaque, domain, *news);
    return 0;
}

void on_io_error(virConnect*, virDomain* domain, const char*, const char*, int action,
                 const char* reason, void* opaque) {
    if (action != VIR_DOMAIN_EVENT_IO_ERROR_PAUSE) return;
    const bool full = reason != nullptr && std::string_view(reason) == "enospc";
    tell(opaque, domain, full ? DomainNews::disk_full : DomainNews::disk_failed);
}

void on_control_error(virConnect*, virDomain* domain, void* opaque) {
    tell(opaque, domain, DomainNews::control_lost);
}

void on_close(virConnect*, int, void* opaque) {
    callbacks_of(opaque).closed();
}

// Errors are returned; libvirt need not print them on stderr as well.
void quiet(void*, virError*) {}

constexpr int keepalive_seconds = 5;
constexpr unsigned keepalive_misses = 3;

}  // namespace

protocol::Result<std::shared_ptr<Session>> Session::open(const std::string& uri,
                                                         SessionCallbacks callbacks) {
    virSetErrorFunc(nullptr, quiet);
    std::shared_ptr<Session> session(new Session(EventLoop::acquire()));
    session->connect_.reset(virConnectOpen(uri.c_str()));
    if (!session->connect_) {
        return protocol::fail(protocol::Kind::unavailable,
                              last_failure("libvirt does not answer at " + uri).message());
    }
    TRY_VOID(session->watch(std::move(callbacks)));
    return session;
}

protocol::Result<void> Session::watch(SessionCallbacks callbacks) {
    callbacks_ = std::make_shared<const SessionCallbacks>(std::move(callbacks));

    // Not every driver has it (`test:` does not): a hung daemon is then noticed by the call that
    // hangs.
    virConnectSetKeepAlive(connect_.get(), keepalive_seconds, keepalive_misses);

    // Ours: a driver inside this process takes the callback and never frees what it was given, and
    // its deregistration waits for a call that is under way.
    close_watched_ =
        virConnectRegisterCloseCallback(connect_.get(), on_close, &callbacks_, nullptr) == 0;
    if (!close_watched_) {
        // A driver inside this process (`test:`) has no daemon that could go away.
        if (!last_error_is(VIR_ERR_NO_SUPPORT)) {
            return protocol::fail(last_failure("watching the connection to libvirt"));
        }
    }
    const std::pair<int, virConnectDomainEventGenericCallback> events[] = {
        {VIR_DOMAIN_EVENT_ID_LIFECYCLE, VIR_DOMAIN_EVENT_CALLBACK(on_lifecycle)},
        {VIR_DOMAIN_EVENT_ID_IO_ERROR_REASON, VIR_DOMAIN_EVENT_CALLBACK(on_io_error)},
        {VIR_DOMAIN_EVENT_ID_CONTROL_ERROR, VIR_DOMAIN_EVENT_CALLBACK(on_control_error)},
    };
    for (const auto& [event, callback] : events) {
        auto* for_event = new SharedCallbacks(callbacks_);
        const int id = virConnectDomainEventRegisterAny(connect_.get(), nullptr, event, callback,
                                                        for_event, free_shared);
        if (id < 0) {
            free_shared(for_event);
            return protocol::fail(last_failure("watching libvirt's events"));
        }
        event_ids_.push_back(id);
    }
    return {};
}

Session::~Session() {
    if (!connect_) return;
    for (const int id : event_ids_) virConnectDomainEventDeregisterAny(connect_.get(), id);
    if (close_watched_) virConnectUnregisterCloseCallback(connect_.get(), on_close);
}

}  // namespace host::libvirt
