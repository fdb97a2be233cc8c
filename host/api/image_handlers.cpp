// Images of the host, and the default of a namespace.

#include "host/api/exchange.hpp"
#include "host/api/handlers.hpp"
#include "host/api/records_json.hpp"
#include "protocol/base/name.hpp"

#include <boost/describe.hpp>

namespace host::api {

using protocol::fail;
using protocol::Failure;
using protocol::Kind;

namespace {

struct ImageBody {
    ImageBody() = default;
    std::string image;
};
BOOST_DESCRIBE_STRUCT(ImageBody, (), (image))

}  // namespace

Answering list_images(Exchange& exchange) {
    const auto images = co_await exchange.service().images(exchange.principal());
    if (!images) co_return fail(images.error());
    co_return Response::json(
        200, json_list(*images, [](const sandbox::ImageInfo& image) { return to_json(image); }));
}

Answering get_image(Exchange& exchange) {
    CO_TRY(const auto name, exchange.name("image"));
    const auto image = co_await exchange.service().image(exchange.principal(), name);
    if (!image) co_return fail(image.error());
    co_return Response::json(200, to_json(*image));
}

Answering delete_image(Exchange& exchange) {
    CO_TRY(const auto name, exchange.name("image"));
    const auto deleted = co_await exchange.service().delete_image(exchange.principal(), name);
    if (!deleted) co_return fail(deleted.error());
    co_return Response::json(200, to_json(*deleted));
}

Answering put_default_image(Exchange& exchange) {
    CO_TRY(const auto space, exchange.name("ns"));
    auto body = co_await exchange.json_body<ImageBody>();
    if (!body) co_return fail(std::move(body).error());
    if (!protocol::is_valid_name(body->image)) {
        co_return fail(Failure::with_code(
            Kind::invalid_argument, "invalid-name",
            "$.image: '" + protocol::escape_foreign(body->image, 80) + "' is no name of an image"));
    }
    const auto record = co_await exchange.service().set_default_image(exchange.principal(), space,
                                                                      std::move(body->image));
    if (!record) co_return fail(record.error());
    co_return Response::json(200, to_json(*record));
}

Answering delete_default_image(Exchange& exchange) {
    CO_TRY(const auto space, exchange.name("ns"));
    const auto record =
        co_await exchange.service().set_default_image(exchange.principal(), space, std::string());
    if (!record) co_return fail(record.error());
    co_return Response::json(200, to_json(*record));
}

}  // namespace host::api
