// The part of Client that is about images.

#include "sdk/cpp/client.hpp"

#include <boost/json/serialize.hpp>

namespace sdk {

using protocol::fail;
using protocol::Kind;

Result<json::array> Client::images() {
    TRY(auto answer, object_of(get("/v1/images")));
    auto* items = answer.if_contains("items");
    if (items == nullptr || !items->is_array()) {
        return fail(Kind::protocol_violation, "the answer is not a list of images");
    }
    return std::move(items->get_array());
}

Result<json::object> Client::image(const std::string& name) {
    return object_of(get("/v1/images/" + encode_part(name)));
}

Result<json::object> Client::delete_image(const std::string& name) {
    Request request;
    request.method = "DELETE";
    request.target = "/v1/images/" + encode_part(name);
    return object_of(ask(request));
}

Result<json::object> Client::set_default_image(const std::string& space, const std::string& image) {
    Request request;
    request.method = image.empty() ? "DELETE" : "PUT";
    request.target = "/v1/namespaces/" + encode_part(space) + "/image";
    if (!image.empty()) {
        json::object body;
        body["image"] = image;
        request.headers.emplace_back("Content-Type", "application/json");
        request.body = json::serialize(body);
    }
    return object_of(ask(request));
}

}  // namespace sdk
