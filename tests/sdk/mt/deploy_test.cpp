// mt deploy: what is sent, and how mistakes are shown.

#include "tests/sdk/fake_daemon.hpp"
#include "tests/sdk/mt/program.hpp"

#include <filesystem>
#include <fstream>

#include <boost/json/parse.hpp>
#include <gtest/gtest.h>

namespace {

namespace fs = std::filesystem;
using fake::Exchange;
using fake::FakeDaemon;

class Deploy : public testing::Test {
  protected:
    Deploy() : daemon_([this](Exchange& exchange) { answer(exchange); }) {
        folder_ = daemon_.folder() + "/project";
        write("capsules/report.mtr", "autoTerminate = true\n");
        write("apps/analyst/analyst.mtc", "string main() {}\n");
        write("data/sales.csv", "a,b\n");
        write(".git/config.mtr", "x");
    }
    void answer(Exchange& exchange) {
        sent_ = exchange.body;
        exchange.answer(status_, answer_);
    }
    void write(const std::string& path, const std::string& content) {
        fs::create_directories((fs::path(folder_) / path).parent_path());
        std::ofstream(folder_ + "/" + path) << content;
    }
    program::Outcome deploy(std::vector<std::string> more = {}) {
        std::vector<std::string> words{"deploy", folder_};
        words.insert(words.end(), more.begin(), more.end());
        return program::run(words, {{"MAITENTO_URL", daemon_.url()}});
    }

    std::string folder_, sent_;
    int status_ = 200;
    std::string answer_ = R"({"created":["report"],"updated":[],"unchanged":["bench"],
                              "skipped":["apps/analyst/analyst.mtc: apps are not supported yet"]})";
    FakeDaemon daemon_;
};

TEST_F(Deploy, SendsContentsAndNamesOtherKinds) {
    const auto outcome = deploy();
    EXPECT_EQ(outcome.code, 0);
    EXPECT_EQ(outcome.out,
              "created   report\n"
              "unchanged bench\n"
              "skipped   apps/analyst/analyst.mtc: apps are not supported yet\n");
    const auto files = boost::json::parse(sent_).at("files").as_array();
    ASSERT_EQ(files.size(), 2u);
    EXPECT_EQ(files[0].at("path"), "apps/analyst/analyst.mtc");
    EXPECT_EQ(files[0].at("content"), "");
    EXPECT_EQ(files[1].at("path"), "capsules/report.mtr");
    EXPECT_EQ(files[1].at("content"), "autoTerminate = true\n");
}

TEST_F(Deploy, ShowsMistakesAsACompilerDoes) {
    status_ = 400;
    answer_ = R"({"code":"definition-invalid","detail":"2 mistakes","errors":[
        {"file":"capsules/report.mtr","line":2,"column":1,"name":"maxDuraton","message":"unknown property"},
        {"file":"capsules/report.mtr","line":0,"column":0,"name":"","message":"it is empty"}]})";
    const auto outcome = deploy();
    EXPECT_EQ(outcome.code, 2);
    EXPECT_EQ(outcome.out, "");
    EXPECT_EQ(outcome.err, folder_ + "/capsules/report.mtr:2:1: maxDuraton: unknown property\n" +
                               folder_ + "/capsules/report.mtr: it is empty\n" +
                               "mt: nothing was deployed\n");
    const auto as_json = deploy({"--json"});
    EXPECT_EQ(as_json.code, 2);
    EXPECT_EQ(boost::json::parse(as_json.out).at("errors").as_array().size(), 2u);
}

TEST_F(Deploy, RefusesAFolderWithoutDefinitions) {
    fs::remove_all(folder_ + "/capsules");
    const auto outcome = deploy();
    EXPECT_EQ(outcome.code, 2);
    EXPECT_NE(outcome.err.find("capsules/*.mtr"), std::string::npos);
    EXPECT_TRUE(daemon_.requests().empty());
}

}  // namespace
