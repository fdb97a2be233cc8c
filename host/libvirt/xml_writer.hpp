#pragma once
// XmlWriter: nested elements into a string, everything escaped by libxml2. Pure. Used by domain_xml
// only.

#include <libxml/xmlwriter.h>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

namespace host::libvirt {

class XmlWriter {
  public:
    using Attributes = std::initializer_list<std::pair<std::string_view, std::string_view>>;

    XmlWriter();

    // <name attributes>children()</name>
    template <typename Children>
    void element(std::string_view name, Attributes attributes, const Children& children) {
        open(name, attributes);
        children();
        close();
    }
    // <name attributes/>
    void empty(std::string_view name, Attributes attributes);
    // <name attributes>content</name>
    void text(std::string_view name, Attributes attributes, std::string_view content);

    // The whole document, indented. Ends the writer. "" when a value was not valid UTF-8 or memory
    // ran out.
    std::string finish() &&;

  private:
    struct FreeBuffer {
        void operator()(xmlBuffer* buffer) const noexcept { xmlBufferFree(buffer); }
    };
    struct FreeWriter {
        void operator()(xmlTextWriter* writer) const noexcept { xmlFreeTextWriter(writer); }
    };
    void open(std::string_view name, Attributes attributes);
    void close();
    void check(int written) { failed_ = failed_ || written < 0; }

    // The writer refers to the buffer, so it is declared (and destroyed) after it.
    std::unique_ptr<xmlBuffer, FreeBuffer> buffer_;
    std::unique_ptr<xmlTextWriter, FreeWriter> writer_;
    bool failed_ = false;
};

}  // namespace host::libvirt
