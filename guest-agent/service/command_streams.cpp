#include "guest-agent/service/command_streams.hpp"

#include "protocol/wire/json_codec.hpp"
#include "protocol/wire/limits.hpp"
#include "protocol/wire/operations.hpp"

#include <algorithm>
#include <utility>

namespace guest_agent {

using protocol::Channel;
using protocol::Failure;
using protocol::Kind;
using protocol::StreamId;

namespace {

std::string done() {
    return protocol::encode_end(protocol::Done());
}

}  // namespace

// ---- StartStream --------------------------------------------------------------------------------

StartStream::StartStream(Streams& streams, StreamId id, std::shared_ptr<Command> command)
    : StreamHandler(streams, id), command_(std::move(command)) {}

StartStream::~StartStream() {
    command_->unobserve(*this);
}

void StartStream::start() {
    command_->observe(*this);
    if (command_->pid() > 0) {
        protocol::CommandStarted started;
        started.pid = command_->pid();
        event(protocol::encode_event(protocol::event::started, started));
    }
    if (command_->over()) on_exited(*command_);
    if (command_->ended()) on_ended(*command_);
}

void StartStream::on_exited(Command& command) {
    event(protocol::encode_event(protocol::event::exited, command.report()));
}

void StartStream::on_ended(Command& command) {
    finish(protocol::encode_end(command.report()));
}

// ---- FollowStream -------------------------------------------------------------------------------

FollowStream::Reader::Reader(FollowStream& owner, Output& output, Channel channel,
                             std::uint64_t from, bool lossless)
    : owner_(owner),
      output_(output),
      channel_(channel),
      from_(from),
      offset_(from),
      lossless_(lossless) {}

std::optional<std::uint64_t> FollowStream::Reader::held_from() const {
    if (!lossless_ || owner_.finished()) return std::nullopt;
    return std::max(from_, offset_ > owner_.window_ ? offset_ - owner_.window_ : 0);
}

// The link that takes this output as pages, if any does. A follower that may lose bytes would not
// wait for credit.
protocol::Link* FollowStream::Reader::page_link() const {
    return lossless_ && !owner_.finished() ? owner_.page_link() : nullptr;
}

std::size_t FollowStream::Reader::loadable() {
    auto* const link = page_link();
    if (link == nullptr || offset_ != output_.raw().end()) return 0;
    return link->loadable(owner_.id(), channel_);
}

bool FollowStream::Reader::load(int pipe, std::size_t bytes) {
    if (!loaded_from_) loaded_from_ = offset_;
    offset_ += bytes;
    return owner_.page_link()->load(owner_.id(), channel_, pipe, bytes);
}

void FollowStream::Reader::send_loaded(bool whole) {
    const std::uint64_t from = *std::exchange(loaded_from_, std::nullopt);
    auto* const link = owner_.page_link();
    if (link == nullptr) return;
    if (!whole || owner_.finished()) link->unload();
    // What has not gone as pages is in the ring.
    if (!link->send_loaded(owner_.id(), channel_)) offset_ = from;
    owner_.pump();
}

bool FollowStream::Reader::waits_for_credit() {
    auto* const link = page_link();
    if (link == nullptr || loaded_from_ || offset_ != output_.raw().end()) return false;
    if (owner_.sendable(channel_) >= protocol::limits::write_bytes) return false;
    owner_.await_credit(channel_);
    return true;
}

bool FollowStream::Reader::pump() {
    if (loaded_from_) return false;  // send_loaded() goes on
    const protocol::ByteRing& raw = output_.raw();
    bool sent_something = false;
    if (offset_ < raw.begin()) {
        // To skip is no progress of a consumer that takes nothing.
        if (owner_.sendable(channel_) == 0) {
            owner_.await_credit(channel_);
            return false;
        }
        protocol::OutputGap gap;
        gap.channel = static_cast<std::uint8_t>(channel_);
        gap.from = offset_;
        gap.to = raw.begin();
        owner_.event(protocol::encode_event(protocol::event::gap, gap));
        offset_ = raw.begin();
        sent_something = true;
    }
    while (offset_ < raw.end()) {
        // One byte more than may be sent: what is not taken makes the session say when to go on.
        const std::string_view bytes = raw.view(offset_, owner_.sendable(channel_) + 1);
        const std::size_t taken = owner_.send(channel_, bytes, false);
        offset_ += taken;
        sent_something = sent_something || taken > 0;
        if (taken < bytes.size()) return sent_something;
    }
    if (output_.ended() && !half_closed_) {
        half_closed_ = true;
        owner_.send(channel_, {}, true);
    }
    return sent_something;
}

FollowStream::FollowStream(Streams& streams, StreamId id, std::shared_ptr<Command> command,
                           const protocol::CommandFollow& request)
    : StreamHandler(streams, id),
      command_(std::move(command)),
      window_(request.window.value_or(protocol::limits::window_bytes)),
      readers_{
          Reader(*this, command_->output(), Channel::output, request.output_from, request.lossless),
          Reader(*this, command_->error(), Channel::error, request.error_from, request.lossless)} {}

FollowStream::~FollowStream() {
    command_->unobserve(*this);
    for (auto& reader : readers_) reader.output_.remove(reader);
}

void FollowStream::start() {
    if (window_ < protocol::limits::window_bytes ||
        window_ > protocol::limits::follow_window_bytes) {
        return finish(protocol::encode_end_failure(
            Failure(Kind::invalid_argument, "no output has a window of that size")));
    }
    for (const auto& reader : readers_) widen(reader.channel_, window_);
    for (const auto& reader : readers_) {
        if (reader.offset_ > reader.output_.raw().end()) {
            return finish(protocol::encode_end_failure(
                Failure(Kind::invalid_argument, "an offset lies beyond the output's end")));
        }
    }
    command_->observe(*this);
    for (auto& reader : readers_) reader.output_.add(reader);
    if (command_->over()) {
        on_exited(*command_);
    } else {
        pump();
    }
}

void FollowStream::on_exited(Command&) {
    exited_ = true;
    for (auto& reader : readers_) reader.exit_offset_ = reader.output_.raw().end();
    pump();
}

void FollowStream::on_writable(Channel) {
    pump();
    for (auto& reader : readers_) reader.output_.progressed();
}

void FollowStream::pump() {
    if (finished()) return;
    for (auto& reader : readers_) {
        if (reader.pump()) reader.output_.progressed();
    }
    const auto all = [this](auto what) {
        return std::all_of(readers_.begin(), readers_.end(), what);
    };
    if (exited_ && !exited_sent_ &&
        all([](const Reader& reader) { return reader.offset_ >= reader.exit_offset_; })) {
        exited_sent_ = true;
        event(protocol::encode_event(protocol::event::exited, protocol::Done()));
    }
    if (exited_sent_ && all([](const Reader& reader) { return reader.half_closed_; }))
        finish(done());
}

void FollowStream::on_lost() {
    // The consumer will want to go on from what it had taken.
    for (auto& reader : readers_) {
        if (const auto from = reader.held_from()) {
            reader.output_.reserve(std::max(*from, reader.output_.raw().begin()), window_);
        }
    }
}

// ---- InputStream --------------------------------------------------------------------------------

InputStream::InputStream(Streams& streams, StreamId id, std::shared_ptr<Command> command,
                         const protocol::CommandInput& request)
    : StreamHandler(streams, id), command_(std::move(command)), from_(request.from) {}

InputStream::~InputStream() {
    if (command_->input() != nullptr) command_->input()->unlisten(*this);
}

void InputStream::start() {
    Input* const input = command_->input();
    if (input == nullptr) {
        return finish(protocol::encode_end_failure(
            Failure(Kind::invalid_argument, "the command was started without input")));
    }
    if (from_ > input->taken()) {
        return finish(protocol::encode_end_failure(
            Failure(Kind::invalid_argument, "input is missing before the given offset")));
    }
    if (input->pending() > protocol::limits::window_bytes) {
        // Each new stream has a fresh allowance; a sender that reconnects all the time must not
        // fill memory.
        return finish(protocol::encode_end_failure(
            Failure(Kind::resource_exhausted, "the program has not read its earlier input yet")));
    }
    protocol::InputTaken taken;
    taken.offset = input->taken();
    taken.closed = input->closed();
    event(protocol::encode_event(protocol::event::taken, taken));
    if (input->closed()) return finish(done());
    input->listen(*this);
}

void InputStream::on_data(Channel channel, std::string_view bytes, bool last) {
    Input& input = *command_->input();
    if (channel != Channel::input || finished()) return consumed(channel, bytes.size());
    // What an earlier connection brought already is skipped.
    const auto known =
        std::min<std::uint64_t>(bytes.size(), input.taken() > from_ ? input.taken() - from_ : 0);
    from_ += bytes.size();
    consumed(channel, static_cast<std::size_t>(known));
    bytes.remove_prefix(static_cast<std::size_t>(known));
    uncredited_ += bytes.size();
    input.put(bytes, last);
}

void InputStream::on_input_written(std::size_t bytes) {
    // May count bytes of an earlier connection as well.
    const std::size_t ours = std::min(bytes, uncredited_);
    uncredited_ -= ours;
    consumed(Channel::input, ours);
}

void InputStream::on_input_closed() {
    finish(done());
}

}  // namespace guest_agent
