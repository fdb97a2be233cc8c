#include "host/machine/capabilities.hpp"

#include <set>
#include <unistd.h>

#include <boost/json/array.hpp>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace host::machine {
namespace {

using ::testing::HasSubstr;

ProbeInputs nothing_to_boot() {
    ProbeInputs inputs;
    inputs.kernel = "/nonexistent/vmlinux";
    inputs.initrd = "/nonexistent/initrd";
    return inputs;
}

TEST(ChooseAccelerator, TakesEmulationWhenTold) {
    const auto report = choose_accelerator(AcceleratorChoice::tcg, nothing_to_boot());
    ASSERT_TRUE(report);
    EXPECT_EQ(report->accelerator, sandbox::Accelerator::tcg);
    EXPECT_FALSE(report->reason.empty());
}

TEST(ChooseAccelerator, DoesNotBelieveInKvmWithoutAGuestThatBooted) {
    const auto report = choose_accelerator(AcceleratorChoice::automatic, nothing_to_boot());
    ASSERT_TRUE(report);
    EXPECT_EQ(report->accelerator, sandbox::Accelerator::tcg);
    EXPECT_THAT(report->reason, HasSubstr("/dev/kvm"));
    EXPECT_THAT(report->reason, HasSubstr("software emulation is used"));
}

TEST(ChooseAccelerator, RefusesRatherThanFallBackWhenKvmWasAskedFor) {
    const auto report = choose_accelerator(AcceleratorChoice::kvm, nothing_to_boot());
    ASSERT_FALSE(report);
    EXPECT_EQ(report.error().kind(), protocol::Kind::unavailable);
}

TEST(ChooseTransport, GoesByTheDevice) {
    const auto report = choose_transport();
    const bool device = access("/dev/vhost-vsock", R_OK | W_OK) == 0;
    EXPECT_EQ(report.transport, device ? sandbox::Transport::vsock : sandbox::Transport::serial);
    EXPECT_THAT(report.reason, HasSubstr("/dev/vhost-vsock"));
}

TEST(RunDoctor, SaysWhatToDoAboutEverythingThatIsNotWell) {
    DoctorOptions options;
    options.images = "/nonexistent/images";
    options.state = "/nonexistent/state";
    options.egress_program = "/nonexistent/capsule-egress";
    options.boot_capsule = false;
    std::vector<std::string> announced;
    const auto checks =
        run_doctor(options, [&](const std::string& name) { announced.push_back(name); });
    std::vector<std::string> names;
    for (const auto& check : checks) {
        names.push_back(check.name);
        EXPECT_FALSE(check.detail.empty()) << check.name;
        EXPECT_EQ(check.fix.empty(), check.verdict == Check::Verdict::ok) << check.name;
        if (check.name == "images") {
            EXPECT_EQ(check.verdict, Check::Verdict::failed);
            EXPECT_THAT(check.detail, HasSubstr("/nonexistent/images"));
        }
        if (check.name == "network proxy") {
            EXPECT_EQ(check.verdict, Check::Verdict::failed);
            EXPECT_THAT(check.detail, HasSubstr("/nonexistent/capsule-egress"));
        }
    }
    EXPECT_EQ(names, announced);
    EXPECT_EQ(std::set<std::string>(names.begin(), names.end()).size(), names.size());
    EXPECT_THAT(
        names, ::testing::IsSupersetOf({"kvm", "transport", "libvirt", "images", "network proxy"}));
}

TEST(ToJson, IsUsableUnlessSomethingFailed) {
    Check check;
    check.name = "kvm";
    check.verdict = Check::Verdict::warning;
    check.detail = "d";
    check.fix = "f";
    auto report = to_json({check});
    EXPECT_TRUE(report.at("usable").as_bool());
    const auto& entry = report.at("checks").as_array().at(0).as_object();
    EXPECT_EQ(entry.at("name"), "kvm");
    EXPECT_EQ(entry.at("verdict"), "warning");
    EXPECT_EQ(entry.at("fix"), "f");
    check.verdict = Check::Verdict::failed;
    EXPECT_FALSE(to_json({check}).at("usable").as_bool());
}

}  // namespace
}  // namespace host::machine
