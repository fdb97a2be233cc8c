// Reading back: the metadata element and the context id of a live domain.

#include "host/libvirt/domain_xml.hpp"

#include <charconv>
#include <libxml/parser.h>
#include <libxml/xpath.h>
#include <memory>

namespace host::libvirt {
namespace {

struct FreeDocument {
    void operator()(xmlDoc* document) const noexcept { xmlFreeDoc(document); }
};
struct FreeContext {
    void operator()(xmlXPathContext* context) const noexcept { xmlXPathFreeContext(context); }
};
struct FreeObject {
    void operator()(xmlXPathObject* object) const noexcept { xmlXPathFreeObject(object); }
};
using Document = std::unique_ptr<xmlDoc, FreeDocument>;

Document parse(const std::string& text) {
    // No network, no entities: the text comes from libvirt, yet other people's domains are in it
    // too.
    return Document(xmlReadMemory(text.data(), static_cast<int>(text.size()), "domain.xml", nullptr,
                                  XML_PARSE_NONET | XML_PARSE_NOERROR | XML_PARSE_NOWARNING));
}

// The string value of an XPath expression; "" when it selects nothing.
std::string select(xmlDoc& document, const char* path) {
    const std::unique_ptr<xmlXPathContext, FreeContext> context(xmlXPathNewContext(&document));
    if (!context) return {};
    const std::unique_ptr<xmlXPathObject, FreeObject> object(
        xmlXPathEvalExpression(reinterpret_cast<const xmlChar*>(path), context.get()));
    if (!object || object->type != XPATH_STRING || object->stringval == nullptr) return {};
    return reinterpret_cast<const char*>(object->stringval);
}

}  // namespace

std::optional<Ownership> parse_ownership(const std::string& metadata_element) {
    const Document document = parse(metadata_element);
    if (!document) return std::nullopt;
    auto run = protocol::RunId::parse(select(*document, "string(/*[local-name()='run']/@id)"));
    if (!run) return std::nullopt;
    return Ownership(std::move(*run),
                     select(*document, "string(/*[local-name()='run']/@installation)"));
}

std::optional<std::uint32_t> parse_cid(const std::string& live_domain_xml) {
    const Document document = parse(live_domain_xml);
    if (!document) return std::nullopt;
    const std::string text = select(*document, "string(/domain/devices/vsock/cid/@address)");
    std::uint32_t cid = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), cid);
    if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
    return cid;
}

}  // namespace host::libvirt
