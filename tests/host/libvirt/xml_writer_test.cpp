#include "host/libvirt/xml_writer.hpp"

#include <gtest/gtest.h>

namespace host::libvirt {
namespace {

std::string one_attribute(std::string_view value) {
    XmlWriter xml;
    xml.empty("a", {{"b", value}});
    return std::move(xml).finish();
}

TEST(XmlWriter, NestsElements) {
    XmlWriter xml;
    xml.element("a", {{"k", "v"}}, [&] {
        xml.empty("b", {});
        xml.text("c", {}, "t");
    });
    EXPECT_EQ(std::move(xml).finish(), "<a k=\"v\">\n  <b/>\n  <c>t</c>\n</a>\n");
}

TEST(XmlWriter, EscapesAttributes) {
    EXPECT_EQ(one_attribute(R"(<'"&>)"), "<a b=\"&lt;'&quot;&amp;&gt;\"/>\n");
}

TEST(XmlWriter, EscapesText) {
    XmlWriter xml;
    xml.text("a", {}, "</a><evil/>&");
    EXPECT_EQ(std::move(xml).finish(), "<a>&lt;/a&gt;&lt;evil/&gt;&amp;</a>\n");
}

TEST(XmlWriter, RefusesWhatXmlCannotCarry) {
    EXPECT_EQ(one_attribute(std::string_view("a\0b", 3)), "");
    EXPECT_EQ(one_attribute("\x01"), "");
    EXPECT_EQ(one_attribute("\xFF"), "");
    EXPECT_NE(one_attribute("na\xC3\xAFve"), "");
}

}  // namespace
}  // namespace host::libvirt
