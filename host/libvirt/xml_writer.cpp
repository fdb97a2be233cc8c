#include "host/libvirt/xml_writer.hpp"

namespace host::libvirt {
namespace {

// libxml2 takes zero-terminated strings of unsigned char.
class XmlText {
  public:
    explicit XmlText(std::string_view text) : text_(text) {}
    operator const xmlChar*() const { return reinterpret_cast<const xmlChar*>(text_.c_str()); }
    // An embedded zero would cut the value short, other controls are not XML at all.
    bool valid() const {
        for (const char c : text_) {
            const auto byte = static_cast<unsigned char>(c);
            if (byte < 0x20 && c != '\n' && c != '\t') return false;
        }
        return xmlCheckUTF8(*this) == 1;
    }

  private:
    std::string text_;
};

}  // namespace

XmlWriter::XmlWriter()
    : buffer_(xmlBufferCreate()),
      writer_(buffer_ ? xmlNewTextWriterMemory(buffer_.get(), 0) : nullptr),
      failed_(!writer_) {
    if (writer_) {
        xmlTextWriterSetIndent(writer_.get(), 1);
        xmlTextWriterSetIndentString(writer_.get(), XmlText("  "));
    }
}

void XmlWriter::open(std::string_view name, Attributes attributes) {
    if (failed_) return;
    check(xmlTextWriterStartElement(writer_.get(), XmlText(name)));
    for (const auto& [key, value] : attributes) {
        const XmlText text(value);
        failed_ = failed_ || !text.valid();
        if (failed_) return;
        check(xmlTextWriterWriteAttribute(writer_.get(), XmlText(key), text));
    }
}

void XmlWriter::close() {
    if (!failed_) check(xmlTextWriterEndElement(writer_.get()));
}

void XmlWriter::empty(std::string_view name, Attributes attributes) {
    open(name, attributes);
    close();
}

void XmlWriter::text(std::string_view name, Attributes attributes, std::string_view content) {
    open(name, attributes);
    const XmlText text(content);
    failed_ = failed_ || !text.valid();
    if (!failed_) check(xmlTextWriterWriteString(writer_.get(), text));
    close();
}

std::string XmlWriter::finish() && {
    if (!failed_) check(xmlTextWriterEndDocument(writer_.get()));
    writer_.reset();  // flushes into the buffer
    if (failed_) return {};
    return reinterpret_cast<const char*>(xmlBufferContent(buffer_.get()));
}

}  // namespace host::libvirt
