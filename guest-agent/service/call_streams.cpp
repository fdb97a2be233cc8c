#include "guest-agent/service/call_streams.hpp"

#include "protocol/wire/json_codec.hpp"

#include <string.h>
#include <utility>

namespace guest_agent {

using protocol::Channel;
using protocol::Failure;
using protocol::Kind;

SecretStream::SecretStream(Streams& streams, protocol::StreamId id, Machine& machine,
                           protocol::SecretWrite request)
    : StreamHandler(streams, id), machine_(machine), request_(std::move(request)) {
    bytes_.reserve(request_.size);  // never moved, so no copies are left behind in memory
}

SecretStream::~SecretStream() {
    ::explicit_bzero(bytes_.data(), bytes_.size());
}

void SecretStream::on_data(Channel channel, std::string_view bytes, bool last) {
    consumed(channel, bytes.size());
    if (channel != Channel::input) return;
    if (bytes.size() > request_.size - bytes_.size()) {
        return finish(protocol::encode_end_failure(
            Failure(Kind::invalid_argument, "more bytes than the secret's size")));
    }
    bytes_.append(bytes);
    if (!last) return;
    if (bytes_.size() != request_.size) {
        return finish(protocol::encode_end_failure(
            Failure(Kind::invalid_argument, "fewer bytes than the secret's size")));
    }
    const auto written = machine_.write_secret(request_.name, bytes_);
    finish(written ? protocol::encode_end(protocol::Done())
                   : protocol::encode_end_failure(written.error()));
}

}  // namespace guest_agent
