#include "tests/host/guest/scripted_guest.hpp"

#include <chrono>
#include <fcntl.h>
#include <filesystem>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include <boost/asio/read.hpp>
#include <boost/asio/write.hpp>
#include <boost/json/serialize.hpp>

namespace host::guest {

using namespace std::chrono_literals;
using boost::asio::local::stream_protocol;

Loop::~Loop() {
    settle();
}

bool Loop::until(const std::function<bool()>& holds) {
    const auto deadline = std::chrono::steady_clock::now() + 10s;
    while (!holds()) {
        if (std::chrono::steady_clock::now() >= deadline) return false;
        io.restart();
        io.run_one_until(deadline);
    }
    return true;
}

void Loop::settle() {
    io.restart();
    while (io.poll() > 0) io.restart();
}

ScriptedGuest::ScriptedGuest(boost::asio::io_context& io)
    : boot_id(protocol::BootId::random().str()), io_(io), acceptor_(io) {
    char name[] = "/tmp/scripted-guest-XXXXXX";
    folder_ = ::mkdtemp(name);
    path_ = folder_ + "/port";
    hello.software = "scripted 1";
    hello.limits.control_payload_bytes = protocol::limits::control_payload_bytes;
    hello.limits.data_payload_bytes = protocol::limits::data_payload_bytes;
    hello.limits.window_bytes = protocol::limits::window_bytes;
}

ScriptedGuest::~ScriptedGuest() {
    if (link_) link_->detach();
    std::error_code ignored;
    std::filesystem::remove_all(folder_, ignored);
}

sandbox::GuestAddress ScriptedGuest::address() const {
    sandbox::GuestAddress address;
    address.transport = sandbox::Transport::serial;
    address.serial_socket = sandbox::HostPath(path_);
    return address;
}

void ScriptedGuest::bind() {
    acceptor_.open(stream_protocol());
    acceptor_.bind(stream_protocol::endpoint(path_));
    acceptor_.listen();
}

void ScriptedGuest::listen_in_silence() {
    bind();
}

void ScriptedGuest::listen() {
    if (!acceptor_.is_open()) bind();
    accept();
}

void ScriptedGuest::accept() {
    acceptor_.async_accept([this](boost::system::error_code error, stream_protocol::socket socket) {
        if (error) return;
        ++connections;
        if (garbage_) {
            auto& raw = raw_.emplace_back(std::move(socket));
            std::string preamble(protocol::preamble_bytes, '\0');
            boost::asio::read(raw, boost::asio::buffer(preamble));
            boost::asio::write(raw, boost::asio::buffer(preamble + *garbage_));
        } else {
            if (link_) link_->detach();
            hello.boot_id = boot_id;
            protocol::UniqueFd fd(socket.release());
            ::fcntl(fd.get(), F_SETFL, O_NONBLOCK);
            link_ = protocol::Link::make(io_.get_executor(), std::move(fd), protocol::Role::guest,
                                         boost::json::serialize(protocol::to_json(hello)),
                                         protocol::EndOfFile::closes, *this);
            link_->start();
        }
        accept();
    });
}

void ScriptedGuest::drop() {
    if (link_) link_->detach();
    link_.reset();
}

void ScriptedGuest::event_text(protocol::StreamId stream, std::string text) {
    if (!link_) return;
    link_->session().send_event(stream, std::move(text));
    link_->flush();
}

void ScriptedGuest::end_text(protocol::StreamId stream, std::string text) {
    if (!link_) return;
    link_->session().end(stream, std::move(text));
    link_->flush();
}

void ScriptedGuest::widen(protocol::StreamId stream, protocol::Channel channel,
                          std::uint32_t bytes) {
    if (link_) link_->session().widen(stream, channel, bytes);
}

std::size_t ScriptedGuest::data(protocol::StreamId stream, protocol::Channel channel,
                                std::string_view bytes, bool last) {
    if (!link_) return 0;
    const auto taken = link_->session().send_data(stream, channel, bytes, last);
    link_->flush();
    return taken;
}

void ScriptedGuest::consumed(protocol::StreamId stream, protocol::Channel channel,
                             std::size_t bytes) {
    if (!link_) return;
    link_->session().consumed(stream, channel, bytes);
    link_->flush();
}

protocol::StreamId ScriptedGuest::open(std::string request) {
    const auto opened = link_->session().open(std::move(request));
    link_->flush();
    return opened ? *opened : protocol::StreamId::connection;
}

void ScriptedGuest::on_event(protocol::SessionEvent event) {
    if (const auto* opened = std::get_if<protocol::StreamOpened>(&event)) {
        Request request;
        request.stream = opened->stream;
        request.value = protocol::parse_json(opened->request).value();
        request.operation = request.value.at("operation").as_string();
        requests.push_back(request);
        if (on_request) {
            on_request(request);
        } else {
            end(request.stream, protocol::Done());
        }
    } else if (const auto* bytes = std::get_if<protocol::StreamData>(&event)) {
        if (on_data) {
            on_data(*bytes);
        } else {
            consumed(bytes->stream, bytes->channel, bytes->bytes.size());
        }
    } else if (const auto* reset = std::get_if<protocol::StreamReset>(&event)) {
        resets.push_back(reset->stream);
        end(reset->stream, protocol::Done());
    } else if (const auto* ended = std::get_if<protocol::StreamEnded>(&event)) {
        ends.emplace_back(ended->stream, ended->payload);
    } else if (const auto* writable = std::get_if<protocol::StreamWritable>(&event)) {
        if (on_writable) on_writable(writable->stream);
    }
}

void ScriptedGuest::on_closed(const protocol::Failure&) {
    link_.reset();
}

const ScriptedGuest::Request* ScriptedGuest::last(std::string_view operation) const {
    for (auto at = requests.rbegin(); at != requests.rend(); ++at) {
        if (at->operation == operation) return &*at;
    }
    return nullptr;
}

std::size_t ScriptedGuest::count(std::string_view operation) const {
    std::size_t found = 0;
    for (const Request& request : requests) found += request.operation == operation ? 1 : 0;
    return found;
}

protocol::CommandReport report(const std::string& id, int code, std::string text) {
    protocol::CommandReport made;
    made.id = id;
    made.kind = "exited";
    made.code = code;
    made.output.characters = made.output.bytes = text.size();
    made.output.window = std::move(text);
    return made;
}

}  // namespace host::guest
