#include "host/guest/connection.hpp"

#include "host/guest/report_check.hpp"
#include "host/guest/tunnel.hpp"
#include "protocol/base/name.hpp"
#include "protocol/wire/json_codec.hpp"

#include <boost/asio/post.hpp>

namespace host::guest {

using protocol::Channel;
using protocol::Kind;
using protocol::StreamId;
using sandbox::TunnelKind;

namespace {

// {"ok": {...}} or {"failure": {...}}. The outer failure is a broken rule, the inner one the
// answer.
Result<Result<boost::json::value>> parse_end(const std::string& payload) {
    TRY(const boost::json::value value, protocol::parse_json(payload));
    const auto* object = value.if_object();
    if (object != nullptr) {
        if (const auto* answer = object->if_contains("ok"))
            return Result<boost::json::value>(*answer);
        if (const auto* failure = object->if_contains("failure")) {
            TRY(const auto remote, protocol::from_json<protocol::RemoteFailure>(*failure));
            return Result<boost::json::value>(protocol::fail(checked_failure(remote)));
        }
    }
    return violation("an end that is neither ok nor failure");
}

struct Named {
    std::string name;
    boost::json::value value;
};

Result<Named> parse_named(const std::string& payload, std::string_view member) {
    TRY(boost::json::value value, protocol::parse_json(payload));
    const auto* object = value.if_object();
    const auto* name = object != nullptr ? object->if_contains(member) : nullptr;
    if (name == nullptr || !name->is_string()) {
        return violation("a message without \"" + std::string(member) + "\"");
    }
    Named named{std::string(name->as_string()), boost::json::value()};
    named.value = std::move(value);
    return named;
}

}  // namespace

// ---- StreamPort ---------------------------------------------------------------------------------

bool StreamPort::open() const {
    const auto connection = connection_.lock();
    return connection && connection->ready();
}

std::size_t StreamPort::send_data(Channel channel, std::string_view bytes, bool last) {
    const auto connection = connection_.lock();
    if (!connection || !connection->ready()) return 0;
    const std::size_t taken = connection->link_->session().send_data(stream_, channel, bytes, last);
    connection->flush_soon();
    return taken;
}

void StreamPort::consumed(Channel channel, std::size_t bytes) {
    const auto connection = connection_.lock();
    if (!connection || !connection->ready() || bytes == 0) return;
    connection->link_->session().consumed(stream_, channel, bytes);
    connection->flush_soon();
}

void StreamPort::widen(Channel channel, std::uint32_t bytes) {
    const auto connection = connection_.lock();
    if (!connection || !connection->ready()) return;
    connection->link_->session().widen(stream_, channel, bytes);
}

void StreamPort::end(std::string payload) {
    const auto connection = connection_.lock();
    if (!connection || !connection->ready()) return;
    const auto found = connection->guest_streams_.find(stream_);
    if (found == connection->guest_streams_.end()) return;
    --connection->guest_stream_count_[static_cast<std::size_t>(found->second.kind)];
    connection->guest_streams_.erase(found);
    connection->link_->session().end(stream_, std::move(payload));
    connection->flush_soon();
}

void StreamPort::reset() {
    if (const auto connection = connection_.lock()) connection->abandon(*this);
}

// ---- StreamHandler: what is not expected is a broken rule ---------------------------------------

Result<void> StreamHandler::on_event(std::string_view name, const boost::json::value&) {
    return violation("unexpected event " + protocol::escape_foreign(name, 64));
}
Result<void> StreamHandler::on_data(Channel, std::string, bool) {
    return violation("unexpected data");
}
void StreamHandler::on_writable(Channel) {}
void StreamHandler::on_reset() {}

// ---- Connection ---------------------------------------------------------------------------------

std::shared_ptr<Connection> Connection::start(boost::asio::any_io_executor executor,
                                              protocol::UniqueFd fd, std::string hello,
                                              std::weak_ptr<ConnectionOwner> owner) {
    std::shared_ptr<Connection> made(new Connection(executor, std::move(owner)));
    made->self_ = made;
    made->link_ = protocol::Link::make(std::move(executor), std::move(fd), protocol::Role::host,
                                       std::move(hello), protocol::EndOfFile::closes, *made);
    made->link_->start();
    return made;
}

Result<void> Connection::open(const std::shared_ptr<Operation>& operation) {
    if (!ready()) return protocol::fail(Kind::unavailable, "the link is down");
    TRY(const StreamId stream, link_->session().open(operation->request()));
    operations_[stream] = operation;
    operation->on_opened(StreamPort(weak_from_this(), stream));
    flush_soon();
    return {};
}

void Connection::abandon(const StreamPort& port) {
    if (operations_.erase(port.id()) == 0 || !ready()) return;
    link_->session().reset(port.id());
    flush_soon();
}

void Connection::close(std::string reason) {
    owner_.reset();
    if (closing_) return;
    closing_ = true;
    disconnect_handlers();
    link_->close(std::move(reason));
}

void Connection::fail(Failure why) {
    if (closing_) return;
    closing_ = true;
    failure_ = std::move(why);
    link_->close(failure_->message());
}

void Connection::on_event(protocol::SessionEvent event) {
    if (closing_) return;
    auto handled =
        std::visit([this](auto&& what) { return dispatch(std::move(what)); }, std::move(event));
    if (handled) return;
    Failure why = std::move(handled).error();
    // A payload that cannot be read is the guest's fault too, whatever the codec calls it.
    if (why.kind() == Kind::invalid_argument)
        why = Failure(Kind::protocol_violation, why.describe());
    fail(std::move(why));
}

void Connection::on_closed(const Failure& why) {
    const auto self = std::move(self_);
    closing_ = true;
    disconnect_handlers();
    if (const auto owner = owner_.lock())
        owner->on_connection_closed(*this, failure_ ? *failure_ : why);
}

void Connection::disconnect_handlers() {
    ready_ = false;
    // Handlers may call back; they find a connection without streams.
    const auto operations = std::exchange(operations_, {});
    const auto guest_streams = std::exchange(guest_streams_, {});
    guest_stream_count_ = {};
    for (const auto& [stream, operation] : operations) operation->on_disconnected();
    for (const auto& [stream, guest_stream] : guest_streams)
        guest_stream.handler->on_disconnected();
}

void Connection::flush_soon() {
    if (std::exchange(flush_posted_, true)) return;
    boost::asio::post(executor_, [self = shared_from_this()] {
        self->flush_posted_ = false;
        if (!self->closing_) self->link_->flush();
    });
}

std::shared_ptr<StreamHandler> Connection::handler(StreamId stream) const {
    if (const auto found = operations_.find(stream); found != operations_.end())
        return found->second;
    if (const auto found = guest_streams_.find(stream); found != guest_streams_.end()) {
        return found->second.handler;
    }
    return nullptr;  // abandoned by us; the session drops what still comes
}

Result<void> Connection::dispatch(protocol::PeerReady event) {
    TRY(const auto value, protocol::parse_json(event.hello));
    TRY(auto hello, protocol::from_json<protocol::Hello>(value));
    TRY(hello, check_hello(std::move(hello)));
    const auto owner = owner_.lock();
    if (!owner) return protocol::fail(Kind::unavailable, "closed");
    ready_ = true;
    return owner->on_hello(std::move(hello));
}

Result<void> Connection::dispatch(protocol::StreamOpened event) {
    TRY(const Named request, parse_named(event.request, "operation"));
    if (request.name != "api" && request.name != "egress") {
        return violation("stream for " + protocol::escape_foreign(request.name, 64));
    }
    const bool api = request.name == "api";
    const TunnelKind kind = api ? TunnelKind::api : TunnelKind::egress;
    TRY(auto tunnel, protocol::from_json<protocol::Tunnel>(request.value));
    const auto owner = owner_.lock();
    if (!owner || !owner->wants_tunnels()) {
        refuse(event.stream, Failure(Kind::unsupported, "this run has no such service"));
        return {};
    }
    auto& count = guest_stream_count_[static_cast<std::size_t>(kind)];
    if (count >=
        (api ? protocol::limits::guest_api_streams : protocol::limits::guest_egress_streams)) {
        refuse(event.stream, Failure(Kind::resource_exhausted, "too many connections at once"));
        return {};
    }
    const auto end =
        std::make_shared<TunnelEnd>(executor_, StreamPort(weak_from_this(), event.stream));
    ++count;
    guest_streams_[event.stream] = {end, kind};
    owner->on_tunnel(kind, std::move(tunnel), TunnelEnd::handle(end));
    return {};
}

void Connection::refuse(StreamId stream, const Failure& why) {
    link_->session().end(stream, protocol::encode_end_failure(why));
    flush_soon();
}

Result<void> Connection::dispatch(protocol::StreamEvent event) {
    TRY(const Named named, parse_named(event.payload, "event"));
    if (event.stream != StreamId::connection) {
        const auto stream = handler(event.stream);
        return stream ? stream->on_event(named.name, named.value) : Result<void>();
    }
    if (named.name != "power")
        return violation("notice " + protocol::escape_foreign(named.name, 64));
    TRY(auto notice, protocol::from_json<protocol::PowerNotice>(named.value));
    TRY(notice, check_notice(std::move(notice)));
    if (const auto owner = owner_.lock()) owner->on_notice(std::move(notice));
    return {};
}

Result<void> Connection::dispatch(protocol::StreamData event) {
    const auto stream = handler(event.stream);
    return stream ? stream->on_data(event.channel, std::move(event.bytes), event.last)
                  : Result<void>();
}

Result<void> Connection::dispatch(protocol::StreamWritable event) {
    if (const auto stream = handler(event.stream)) stream->on_writable(event.channel);
    return {};
}

Result<void> Connection::dispatch(protocol::StreamEnded event) {
    const auto found = operations_.find(event.stream);
    if (found == operations_.end()) return {};
    const auto operation = found->second;
    TRY(auto answer, parse_end(event.payload));
    // A broken end is no end: the operation stays and is asked again on the next connection.
    TRY_VOID(operation->on_end(std::move(answer)));
    operations_.erase(event.stream);
    if (const auto owner = owner_.lock()) owner->on_operation_over(operation->key);
    return {};
}

Result<void> Connection::dispatch(protocol::StreamReset event) {
    if (const auto stream = handler(event.stream)) stream->on_reset();
    return {};
}

Result<void> Connection::dispatch(protocol::PeerBye event) {
    return protocol::fail(Kind::unavailable,
                          "the agent closed the link: " + protocol::escape_foreign(event.reason));
}

}  // namespace host::guest
