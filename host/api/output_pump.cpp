#include "host/api/output_pump.hpp"

#include "host/api/records_json.hpp"

#include <boost/asio/experimental/awaitable_operators.hpp>
#include <boost/json/serialize.hpp>

namespace host::api {

using protocol::fail;
using protocol::Failure;
using protocol::Kind;
using protocol::Result;
using Chunk = sandbox::Follower::Chunk;

OutputPump::OutputPump(Exchange& exchange, std::shared_ptr<sandbox::Follower> follower,
                       protocol::RunId run, protocol::CommandId command)
    : exchange_(exchange),
      follower_(std::move(follower)),
      run_(std::move(run)),
      command_(std::move(command)),
      filled_(exchange.shared().loop),
      emptied_(exchange.shared().loop) {}

sandbox::Async<void> OutputPump::run() {
    using namespace boost::asio::experimental::awaitable_operators;
    // The reader never returns: the writer's end is the end of both.
    auto outcome = co_await (write_loop() || read_loop());
    if (outcome.index() == 0) co_return std::get<0>(std::move(outcome));
    co_return fail(Kind::internal, "the follower's reader ended first");
}

sandbox::Async<void> OutputPump::read_loop() {
    bool more = true;
    while (true) {
        while (slot_ || !more) co_await emptied_.wait();
        Piece piece = co_await follower_->read();
        more = piece && piece->has_value();
        slot_.emplace(std::move(piece));
        filled_.notify_all();
    }
}

sandbox::Async<void> OutputPump::write_loop() {
    while (true) {
        while (!slot_) {
            const auto silent_until = std::chrono::steady_clock::now() + limits::keep_alive;
            const bool woken = co_await filled_.wait_until(silent_until);
            if (woken || slot_) continue;
            const auto sent = co_await send_record(OutputRecordType::keep_alive, 0, 0, "");
            if (!sent) co_return fail(sent.error());
        }
        Piece piece = std::move(*slot_);
        slot_.reset();
        emptied_.notify_all();
        const bool over = !piece || !piece->has_value();
        if (over) {
            // Also after a failure, usually that the run has ended: the result says what became of
            // it.
            if (!end_sent_) {
                const auto ended = co_await send_end();
                if (!ended) co_return fail(piece ? ended.error() : piece.error());
            }
            co_return Result<void>();
        }
        Chunk chunk = std::move(**piece);
        const auto sent = co_await send_chunk(std::move(chunk));
        if (!sent) co_return fail(sent.error());
    }
}

sandbox::Async<void> OutputPump::send_chunk(Chunk chunk) {
    const std::uint8_t stream = output_stream_number(chunk.channel);
    switch (chunk.what) {
        case Chunk::What::bytes:
            co_return co_await send_record(OutputRecordType::bytes, stream, chunk.offset,
                                           std::move(chunk.bytes));
        case Chunk::What::gap:
            co_return co_await send_record(OutputRecordType::gap, stream, chunk.offset,
                                           encode_offset(chunk.gap_end));
        case Chunk::What::end_of_channel:
            co_return co_await send_record(OutputRecordType::stream_end, stream, chunk.offset, "");
        case Chunk::What::exited:
            co_return co_await send_end();
    }
    co_return Result<void>();
}

// The result may be stored a moment after the follower hears of the end.
sandbox::Async<void> OutputPump::send_end() {
    const auto record = co_await exchange_.service().wait_command(exchange_.principal(), run_,
                                                                  command_, limits::final_record);
    if (!record) co_return fail(record.error());
    if (!model::is_terminal(record->status)) {
        co_return fail(Kind::unavailable, "the command's output ended before the command");
    }
    end_sent_ = true;
    std::string text = boost::json::serialize(to_json(*record, Outputs::without));
    co_return co_await send_record(OutputRecordType::ended, 0, 0, std::move(text));
}

sandbox::Async<void> OutputPump::send_record(OutputRecordType type, std::uint8_t stream,
                                             std::uint64_t offset, std::string payload) {
    return exchange_.send(encode_output_record(type, stream, offset, payload));
}

}  // namespace host::api
