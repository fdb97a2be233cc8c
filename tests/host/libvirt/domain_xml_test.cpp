#include "host/libvirt/domain_xml.hpp"

#include "host/libvirt/handle.hpp"

#include <cstdlib>
#include <fstream>
#include <iterator>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <libvirt/libvirt.h>

namespace host::libvirt {
namespace {

using sandbox::Accelerator;
using sandbox::MachineSpec;
using sandbox::SharedFolder;
using sandbox::Transport;
using ::testing::HasSubstr;
using ::testing::Not;

protocol::RunId run_id() {
    return *protocol::RunId::parse("0f0e0d0c-0b0a-4908-8706-050403020100");
}
protocol::InstallationId installation() {
    return *protocol::InstallationId::parse("10000000-0000-4000-8000-000000000001");
}

HostTraits debian() {
    HostTraits host;
    host.qemu_group = 64'055;
    host.firmware = "/usr/share/qemu/qboot.rom";
    return host;
}

SharedFolder folder(std::string tag, std::string source) {
    SharedFolder shared;
    shared.tag = std::move(tag);
    shared.source.value = std::move(source);
    return shared;
}

MachineSpec small_machine() {
    const std::string files = "/var/lib/capsuled/runs/0f0e0d0c-0b0a-4908-8706-050403020100";
    MachineSpec spec(run_id());
    spec.memory_bytes = 512ull << 20;
    spec.accelerator = Accelerator::tcg;
    spec.transport = Transport::serial;
    spec.kernel.value = "/var/lib/capsuled/images/kernel-0123456789ab/vmlinux";
    spec.initrd.value = "/var/lib/capsuled/images/initrd-0123456789ab/initrd.cpio";
    spec.overlay.value = files + "/disk.qcow2";
    spec.console_log.value = files + "/console.log";
    spec.serial_socket.value = files + "/agent.sock";
    spec.kernel_command_line = "console=ttyS0 quiet panic=-1 capsule.transport=serial";
    spec.uid = 1'900'000'000;
    return spec;
}

MachineSpec large_machine() {
    MachineSpec spec = small_machine();
    spec.accelerator = Accelerator::kvm;
    spec.transport = Transport::vsock;
    spec.cpus = 4;
    spec.folders = {folder("vfs0", "/var/lib/capsuled/vfs/a"),
                    folder("vfs1", "/var/lib/capsuled/vfs/b")};
    return spec;
}

std::string written(const MachineSpec& spec) {
    const auto xml = domain_xml(spec, installation(), debian());
    return xml ? *xml : "failed: " + xml.error().describe();
}

std::string golden_file(const std::string& name) {
    return std::string(TEST_SOURCE_DIR) + "/host/libvirt/golden/" + name;
}

void expect_golden(const std::string& name, const std::string& actual) {
    if (std::getenv("CAPSULE_REGENERATE_GOLDEN") != nullptr) {
        std::ofstream(golden_file(name)) << actual;
        GTEST_SKIP() << "golden file written";
    }
    std::ifstream input(golden_file(name));
    const std::string expected{std::istreambuf_iterator<char>(input),
                               std::istreambuf_iterator<char>()};
    EXPECT_EQ(actual, expected);
}

TEST(DomainXml, SmallMachineIsAsRecorded) {
    expect_golden("small.xml", written(small_machine()));
}

TEST(DomainXml, LargeMachineIsAsRecorded) {
    expect_golden("large.xml", written(large_machine()));
}

// libvirt's built-in driver checks the XML against its schema, without QEMU.
class SchemaTest : public ::testing::TestWithParam<const char*> {};

TEST_P(SchemaTest, AcceptsTheXml) {
    std::string xml =
        written(std::string(GetParam()) == "small" ? small_machine() : large_machine());
    const std::size_t type = xml.find('"') + 1;
    xml.replace(type, xml.find('"', type) - type, "test");  // the one type that driver runs
    const ConnectHandle connect(virConnectOpen("test:///default"));
    ASSERT_TRUE(connect);
    const DomainHandle domain(
        virDomainCreateXML(connect.get(), xml.c_str(), VIR_DOMAIN_START_VALIDATE));
    ASSERT_TRUE(domain) << last_failure("creating").describe();
    EXPECT_STREQ(virDomainGetName(domain.get()), "capsule-0f0e0d0c-0b0a-4908-8706-050403020100");
    char* element =
        virDomainGetMetadata(domain.get(), VIR_DOMAIN_METADATA_ELEMENT, metadata_uri, 0);
    ASSERT_NE(element, nullptr);
    const auto owner = parse_ownership(element);
    std::free(element);
    ASSERT_TRUE(owner);
    EXPECT_EQ(owner->run, run_id());
    EXPECT_EQ(owner->installation, installation().str());
}

TEST_P(SchemaTest, RefusesXmlThatIsNotInIt) {
    std::string xml = written(small_machine());
    const std::size_t type = xml.find('"') + 1;
    xml.replace(type, xml.find('"', type) - type, "test");
    xml.insert(xml.find("<devices>") + 9, "<toaster/>");
    const ConnectHandle connect(virConnectOpen("test:///default"));
    ASSERT_TRUE(connect);
    EXPECT_FALSE(
        DomainHandle(virDomainCreateXML(connect.get(), xml.c_str(), VIR_DOMAIN_START_VALIDATE)));
}

INSTANTIATE_TEST_SUITE_P(Machines, SchemaTest, ::testing::Values("small", "large"));

TEST(DomainXml, EscapesPathsAndWords) {
    MachineSpec spec = small_machine();
    spec.kernel_command_line = "a=\"<b>\" & 'c'";
    spec.folders = {folder("vfs0", "/srv/\"/><evil/>")};
    const std::string xml = written(spec);
    EXPECT_THAT(xml, HasSubstr("<cmdline>a=&quot;&lt;b&gt;&quot; &amp; 'c'</cmdline>"));
    EXPECT_THAT(xml, Not(HasSubstr("<evil/>")));
}

TEST(DomainXml, RefusesBytesThatXmlCannotCarry) {
    MachineSpec spec = small_machine();
    spec.overlay.value = "/var/lib/\x01";
    EXPECT_EQ(domain_xml(spec, installation(), debian()).error().kind(), protocol::Kind::internal);
}

TEST(DomainXml, RefusesMoreFoldersThanTheBusHasSlots) {
    MachineSpec spec = small_machine();
    for (int i = 0; i < 27; ++i) spec.folders.push_back(folder("vfs" + std::to_string(i), "/a"));
    EXPECT_TRUE(domain_xml(spec, installation(), debian()));
    spec.folders.push_back(folder("vfs27", "/a"));
    EXPECT_EQ(domain_xml(spec, installation(), debian()).error().kind(),
              protocol::Kind::resource_exhausted);
}

TEST(DomainXml, NamesNoFirmwareWhereThereIsNone) {
    HostTraits host = debian();
    host.firmware.clear();
    EXPECT_THAT(*domain_xml(small_machine(), installation(), host), Not(HasSubstr("<loader")));
}

TEST(DomainXml, GivesTheMachineNoNetwork) {
    EXPECT_THAT(written(large_machine()), Not(HasSubstr("<interface")));
}

}  // namespace
}  // namespace host::libvirt
