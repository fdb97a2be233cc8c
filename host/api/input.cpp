#include "host/api/input.hpp"

#include "host/api/limits.hpp"

namespace host::api {

namespace asio = boost::asio;

Input::Input(asio::any_io_executor executor, std::shared_ptr<sandbox::TunnelStream> stream)
    : stream_(std::move(stream)), arrived_(executor), room_(executor) {}

asio::awaitable<void> Input::read_loop() {
    while (true) {
        while (bytes_.size() >= limits::read_ahead_bytes) co_await room_.wait();
        auto piece = co_await stream_->read();
        if (!piece || piece->empty()) break;
        bytes_ += *piece;
        arrived_.notify_all();
    }
    ended_ = true;
    arrived_.notify_all();
}

asio::awaitable<Input::Arrival> Input::more(Wake::TimePoint instant) {
    const std::size_t before = bytes_.size();
    while (bytes_.size() <= before) {
        if (ended_) co_return Arrival::end;
        if (!co_await arrived_.wait_until(instant)) co_return Arrival::late;
    }
    co_return Arrival::bytes;
}

asio::awaitable<void> Input::wait_end() {
    while (!ended_) co_await arrived_.wait();
}

}  // namespace host::api
