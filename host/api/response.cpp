#include "host/api/response.hpp"

#include <ctime>

#include <boost/beast/http/status.hpp>
#include <boost/json/serialize.hpp>

namespace host::api {

namespace {

std::string http_date() {
    const std::time_t now = std::time(nullptr);
    std::tm parts{};
    ::gmtime_r(&now, &parts);
    char text[64];
    const std::size_t size = std::strftime(text, sizeof text, "%a, %d %b %Y %H:%M:%S GMT", &parts);
    return std::string(text, size);
}

}  // namespace

Response Response::json(unsigned status, const boost::json::value& value) {
    Response response(status);
    response.fields.emplace_back("Content-Type", "application/json");
    response.body = boost::json::serialize(value);
    return response;
}

Response Response::text(std::string body) {
    Response response(200);
    response.fields.emplace_back("Content-Type", "text/plain; charset=utf-8");
    response.body = std::move(body);
    return response;
}

Response Response::sent() {
    Response response(200);
    response.state = State::sent;
    return response;
}

Response Response::cut() {
    Response response(200);
    response.state = State::cut;
    return response;
}

std::string write_head(unsigned status, const Fields& fields) {
    const auto reason =
        boost::beast::http::obsolete_reason(static_cast<boost::beast::http::status>(status));
    std::string head = "HTTP/1.1 " + std::to_string(status) + " " + std::string(reason) + "\r\n";
    head += "Date: " + http_date() +
            "\r\nCache-Control: no-store\r\nX-Content-Type-Options: nosniff\r\n";
    for (const auto& [name, value] : fields) head += name + ": " + value + "\r\n";
    return head + "\r\n";
}

}  // namespace host::api
