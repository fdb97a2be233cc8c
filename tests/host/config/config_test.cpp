#include "host/config/config.hpp"

#include "host/model/defaults.hpp"

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include <gtest/gtest.h>

namespace host::config {
namespace {

class ConfigTest : public ::testing::Test {
  protected:
    void SetUp() override {
        std::string pattern = (std::filesystem::temp_directory_path() / "config-XXXXXX").string();
        ASSERT_NE(::mkdtemp(pattern.data()), nullptr);
        folder_ = pattern;
        file_ = folder_ + "/capsuled.conf";
    }
    void TearDown() override { std::filesystem::remove_all(folder_); }

    protocol::Result<Invocation> parsed(std::vector<std::string> arguments,
                                        const std::string& file = "") {
        if (!file.empty()) std::ofstream(file_) << file;
        arguments.insert(arguments.end(), {"--config", file_});
        return parse(arguments);
    }

    std::string folder_, file_;
};

TEST_F(ConfigTest, HasTheDocumentedDefaults) {
    const auto invocation = parsed({});
    ASSERT_TRUE(invocation) << invocation.error().describe();
    EXPECT_EQ(invocation->what, Invocation::What::serve);
    const Config& config = invocation->config;
    EXPECT_EQ(config.state, "/var/lib/capsuled");
    EXPECT_EQ(config.images, "/var/lib/capsuled/images");
    EXPECT_EQ(config.socket(), "/run/capsuled/api.sock");
    EXPECT_EQ(config.key, "/etc/capsuled/secret.key");
    EXPECT_EQ(config.listen, "");
    EXPECT_EQ(config.accelerator, Accelerator::automatic);
    EXPECT_EQ(config.memory_bytes, model::defaults::memory_bytes);
    EXPECT_EQ(config.retention_hours, 168);
}

TEST_F(ConfigTest, TheCommandLineWinsOverTheFile) {
    const auto invocation =
        parsed({"--accelerator", "tcg"}, "# a comment\naccelerator = kvm\nstate = /srv/capsules\n");
    ASSERT_TRUE(invocation) << invocation.error().describe();
    EXPECT_EQ(invocation->config.accelerator, Accelerator::tcg);
    EXPECT_EQ(invocation->config.state, "/srv/capsules");
    EXPECT_EQ(invocation->config.images, "/srv/capsules/images");
}

TEST_F(ConfigTest, NamesWhatItDoesNotKnow) {
    auto on_line = parsed({"--stat", "/x"});
    ASSERT_FALSE(on_line);
    EXPECT_NE(on_line.error().message().find("stat"), std::string::npos);
    auto in_file = parsed({}, "stat = /x\n");
    ASSERT_FALSE(in_file);
    EXPECT_NE(in_file.error().message().find("stat"), std::string::npos);
    EXPECT_NE(in_file.error().message().find(file_), std::string::npos);
}

TEST_F(ConfigTest, RefusesValuesThatCannotBe) {
    for (const std::vector<std::string>& wrong :
         std::vector<std::vector<std::string>>{{"--state", "relative"},
                                               {"--image", "../etc"},
                                               {"--listen", "7070"},
                                               {"--listen", "127.0.0.1:99999"},
                                               {"--accelerator", "xen"},
                                               {"--log-level", "loud"},
                                               {"--memory", "1"},
                                               {"--cpus", "0"},
                                               {"--cpus", "many"},
                                               {"--uid-first", "1000"},
                                               {"unknown"}}) {
        EXPECT_FALSE(parsed(wrong)) << wrong.front();
    }
}

TEST_F(ConfigTest, TakesListsFromBothPlaces) {
    const auto invocation =
        parsed({"--egress-allow", "10.0.0.0/8"}, "egress-allow = 192.0.2.0/24\n");
    ASSERT_TRUE(invocation) << invocation.error().describe();
    EXPECT_EQ(invocation->config.egress_ranges.size(), 2u);
}

TEST_F(ConfigTest, KnowsItsCommands) {
    EXPECT_EQ(parsed({"--version"})->what, Invocation::What::version);
    EXPECT_EQ(parsed({"--help"})->what, Invocation::What::help);
    const auto doctor = parsed({"doctor", "--json"});
    ASSERT_TRUE(doctor);
    EXPECT_EQ(doctor->what, Invocation::What::doctor);
    EXPECT_TRUE(doctor->json);
    EXPECT_NE(help().find("--accelerator"), std::string::npos);
}

// The template of the configuration file and the manual are made from them.
TEST_F(ConfigTest, DefaultsAsTextsAreTheDefaults) {
    std::string file;
    for (const OptionText& option : option_texts()) {
        EXPECT_FALSE(option.value.empty()) << option.name;
        EXPECT_FALSE(option.help.empty()) << option.name;
        if (!option.standard.empty()) file += option.name + " = " + option.standard + "\n";
    }
    EXPECT_NE(file.find("memory = 512\n"), std::string::npos) << file;
    EXPECT_NE(file.find("state = /var/lib/capsuled\n"), std::string::npos) << file;
    const auto written = parsed({}, file);
    ASSERT_TRUE(written) << written.error().describe();
    const Config standard;
    EXPECT_EQ(written->config.state, standard.state);
    EXPECT_EQ(written->config.key, standard.key);
    EXPECT_EQ(written->config.listen, standard.listen);
    EXPECT_EQ(written->config.memory_bytes, standard.memory_bytes);
    EXPECT_EQ(written->config.disk_reserve_bytes, standard.disk_reserve_bytes);
    EXPECT_EQ(written->config.retention_hours, standard.retention_hours);
    EXPECT_EQ(written->config.uid_first, standard.uid_first);
    EXPECT_EQ(written->config.egress_ranges, standard.egress_ranges);
}

}  // namespace
}  // namespace host::config
