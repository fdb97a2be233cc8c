#include "host/guest/call.hpp"

namespace host::guest {

void Call::on_opened(StreamPort opened) {
    port = std::move(opened);
    body_sent_ = 0;
    body_done_ = !body_;
    push();
}

void Call::on_writable(protocol::Channel) {
    push();
}

void Call::push() {
    if (body_done_) return;
    const std::string_view rest = std::string_view(*body_).substr(body_sent_);
    const std::size_t taken = port.send_data(protocol::Channel::input, rest, true);
    body_sent_ += taken;
    body_done_ = taken == rest.size();
}

Result<void> Call::on_end(Answer given) {
    answer = std::move(given);
    changed.notify();
    return {};
}

void Call::on_abandoned(const Failure& why) {
    if (!answer) answer = protocol::fail(why);
    changed.notify();
}

}  // namespace host::guest
