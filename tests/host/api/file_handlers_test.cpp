// The file routes on real folders.

#include "tests/host/api/harness.hpp"

#include <filesystem>
#include <fstream>
#include <sstream>
#include <sys/stat.h>
#include <unistd.h>

#include <gmock/gmock.h>
#include <spdlog/sinks/ostream_sink.h>
#include <spdlog/spdlog.h>

namespace host::api::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

constexpr char files[] = "/v1/namespaces/default/vfs/data/files";

class FileHandlers : public ::testing::Test {
  protected:
    void SetUp() override {
        if (::geteuid() != 0)
            GTEST_SKIP() << "files of a VFS get the owner 1000:1000, which needs root";
        std::filesystem::create_directory(root());
        std::ofstream(host.folder() + "/vfs/canary.txt") << "CANARY";
        host.on_loop([&] { host.service().vfs_folders["data"] = "folder-1"; });
    }
    std::string root() const { return host.folder() + "/vfs/folder-1"; }
    Reply get(const std::string& path, const std::string& fields = "") {
        return host.request("GET", files + path, "", fields);
    }
    Reply put(const std::string& path, const std::string& body) {
        return host.request("PUT", files + path, body);
    }

    Harness host;
};

TEST_F(FileHandlers, WritesAndReadsBack) {
    EXPECT_EQ(put("/a/b.txt", "hello").status, 201);
    EXPECT_EQ(put("/a/b.txt", "hello again").status, 204);
    const auto reply = get("/a/b.txt");
    EXPECT_EQ(reply.status, 200);
    EXPECT_EQ(reply.body, "hello again");
    EXPECT_EQ(reply.fields.at("content-type"), "application/octet-stream");
    EXPECT_EQ(put("/empty", "").status, 201);
    EXPECT_EQ(get("/empty").body, "");
}

TEST_F(FileHandlers, StreamsLargeFiles) {
    std::string large(5'000'000, '\0');
    for (std::size_t i = 0; i < large.size(); ++i) large[i] = static_cast<char>(i * 7 % 251);
    EXPECT_EQ(put("/large", large).status, 201);
    EXPECT_EQ(get("/large").body, large);
    auto client = host.connect();
    client.send("PUT " + std::string(files) +
                "/chunked HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n");
    for (int i = 0; i < 50; ++i)
        client.send("2710\r\n" + large.substr(static_cast<std::size_t>(i) * 10'000, 10'000) +
                    "\r\n");
    client.send("0\r\n\r\n");
    EXPECT_EQ(client.read_reply().status, 201);
    EXPECT_EQ(get("/chunked").body, large.substr(0, 500'000));
}

TEST_F(FileHandlers, AnInterruptedUploadChangesNothing) {
    EXPECT_EQ(put("/x", "old").status, 201);
    auto client = host.connect();
    client.send("PUT " + std::string(files) + "/x HTTP/1.1\r\nContent-Length: 100\r\n\r\nnew");
    client.close();
    EXPECT_TRUE(host.eventually([&] { return host.server().connections() == 0; }));
    EXPECT_EQ(get("/x").body, "old");
    const auto reply = get("/");
    EXPECT_EQ(reply.json().as_object().at("entries").as_array().size(), 1u) << reply.body;
}

TEST_F(FileHandlers, ListsFoldersWithAwkwardNames) {
    for (const char* name : {"/a%20b", "/na%C3%AFve", "/new%0Aline", "/-rf", "/%FF", "/%22q%22"})
        EXPECT_EQ(put(name, "x").status, 201) << name;
    const auto reply = get("");
    EXPECT_EQ(reply.fields.at("content-type"), "application/json");
    EXPECT_EQ(reply.json().as_object().at("entries").as_array().size(), 6u);
    EXPECT_THAT(reply.body, HasSubstr(R"("nameBase64":"/w==")"));
    EXPECT_THAT(reply.body, HasSubstr(R"("name":"new\nline")"));
    for (const char* name : {"/a%20b", "/new%0Aline", "/%FF"})
        EXPECT_EQ(get(name).body, "x") << name;
}

TEST_F(FileHandlers, ShowsAnEntryAlone) {
    EXPECT_EQ(put("/f", "12345").status, 201);
    const auto entry = get("/f?stat=true").json().as_object();
    EXPECT_EQ(entry.at("type").as_string(), "file");
    EXPECT_EQ(entry.at("size").as_int64(), 5);
    EXPECT_EQ(entry.at("mode").as_string(), "0664");
    EXPECT_EQ(get("?stat=true").json().as_object().at("type").as_string(), "folder");
    EXPECT_EQ(get("/none?stat=true").code(), "not-found");
}

TEST_F(FileHandlers, AnswersRanges) {
    EXPECT_EQ(put("/r", "0123456789").status, 201);
    const auto part = get("/r", "Range: bytes=2-4\r\n");
    EXPECT_EQ(part.status, 206);
    EXPECT_EQ(part.body, "234");
    EXPECT_EQ(part.fields.at("content-range"), "bytes 2-4/10");
    EXPECT_EQ(get("/r", "Range: bytes=-3\r\n").body, "789");
    EXPECT_EQ(get("/r", "Range: bytes=8-\r\n").body, "89");
    EXPECT_EQ(get("/r", "Range: bytes=0-1,4-5\r\n").status, 200);
    EXPECT_EQ(get("/r", "Range: bytes=2-4\r\nIf-Range: \"x\"\r\n").status, 200);
    const auto outside = get("/r", "Range: bytes=10-\r\n");
    EXPECT_EQ(outside.status, 416);
    EXPECT_EQ(outside.fields.at("content-range"), "bytes */10");
    EXPECT_EQ(outside.code(), "range-not-satisfiable");
    auto client = host.connect();
    const auto head = client.request("HEAD", std::string(files) + "/r");
    EXPECT_EQ(head.status, 200);
    EXPECT_EQ(head.fields.at("content-length"), "10");
    EXPECT_EQ(client.request("GET", std::string(files) + "/r").body, "0123456789");
}

// An operator is not to be told of every client that has seen enough.
TEST_F(FileHandlers, AClientThatLeavesIsNoWarning) {
    std::ostringstream log;
    const auto sink = std::make_shared<spdlog::sinks::ostream_sink_mt>(log, true);
    auto logger = std::make_shared<spdlog::logger>("test", sink);
    logger->set_level(spdlog::level::debug);
    logger->set_pattern("%l %v");
    const auto usual = spdlog::default_logger();
    spdlog::set_default_logger(logger);
    EXPECT_EQ(put("/large", std::string(20'000'000, 'x')).status, 201);
    auto client = host.connect();
    client.send("GET " + std::string(files) + "/large HTTP/1.1\r\n\r\n");
    EXPECT_EQ(client.read_head().status, 200);
    client.close();
    EXPECT_TRUE(host.eventually([&] { return host.server().connections() == 0; }));
    spdlog::set_default_logger(usual);
    EXPECT_THAT(log.str(), HasSubstr("debug request failed operation=getFile"));
    EXPECT_THAT(log.str(), Not(HasSubstr("warning")));
}

TEST_F(FileHandlers, MakesMovesAndRemoves) {
    const auto post = [&](const std::string& path, const std::string& body) {
        return host.request("POST", files + path, body);
    };
    EXPECT_EQ(post("/d/e", R"({"operation": "makeFolder"})").status, 201);
    EXPECT_EQ(put("/d/e/f", "x").status, 201);
    EXPECT_EQ(post("/d/e/f", R"({"operation": "move", "to": "/g"})").status, 204);
    EXPECT_EQ(get("/g").body, "x");
    EXPECT_EQ(get("/d/e/f").code(), "not-found");
    EXPECT_EQ(host.request("DELETE", std::string(files) + "/d").code(), "not-empty");
    EXPECT_EQ(host.request("DELETE", std::string(files) + "/d?recursive=true").status, 204);
    EXPECT_EQ(get("/d").code(), "not-found");
    EXPECT_EQ(post("/g", R"({"operation": "move", "to": "/../x"})").status, 400);
    EXPECT_EQ(post("/g", R"({"operation": "move"})").code(), "invalid-request");
    EXPECT_EQ(put("/taken", "x").status, 201);
    const auto refused = post("/g", R"({"operation": "move", "to": "/taken"})");
    EXPECT_EQ(refused.status, 409);
    EXPECT_EQ(refused.code(), "already-exists");
    EXPECT_EQ(post("/g", R"({"operation": "copy", "to": "/x"})").code(), "invalid-request");
    EXPECT_EQ(post("/g", R"({"operation": "makeFolder", "to": "/x"})").code(), "invalid-request");
}

TEST_F(FileHandlers, NothingLeavesTheFolder) {
    for (const char* path :
         {"/../canary.txt", "/%2e%2e/canary.txt", "/..%2fcanary.txt", "/a%2f..%2f..%2fcanary.txt",
          "/%00", "/a%00b", "/%2e%2e%2fcanary.txt", "/./x", "/a//b"}) {
        EXPECT_EQ(get(path).status, 400) << path;
        EXPECT_EQ(put(path, "x").status, 400) << path;
        EXPECT_EQ(host.request("DELETE", files + std::string(path) + "?recursive=true").status, 400)
            << path;
    }
    ASSERT_EQ(::symlink("../canary.txt", (root() + "/up").c_str()), 0);
    ASSERT_EQ(::symlink("/etc/passwd", (root() + "/pw").c_str()), 0);
    ASSERT_EQ(::symlink("/", (root() + "/top").c_str()), 0);
    for (const char* path : {"/up", "/pw", "/top", "/top/etc", "/top/etc/passwd"}) {
        const auto reply = get(path);
        EXPECT_GE(reply.status, 400) << path;
        EXPECT_EQ(reply.body.find("CANARY"), std::string::npos) << path;
        EXPECT_EQ(reply.body.find("root:"), std::string::npos) << path;
    }
    EXPECT_EQ(get("/up").code(), "is-a-link");
    EXPECT_GE(put("/top/tmp/x", "x").status, 400);
    put("/up", "OVERWRITTEN");
    std::ifstream canary(host.folder() + "/vfs/canary.txt");
    std::string content;
    canary >> content;
    EXPECT_EQ(content, "CANARY");
    EXPECT_EQ(get("/pw?stat=true").json().as_object().at("type").as_string(), "link");
}

TEST_F(FileHandlers, ReadsOnlyRegularFiles) {
    ASSERT_EQ(::mkfifo((root() + "/fifo").c_str(), 0666), 0);
    EXPECT_GE(get("/fifo").status, 400);
    EXPECT_EQ(get("/fifo?stat=true").json().as_object().at("type").as_string(), "other");
}

TEST_F(FileHandlers, NeedsAVfsThatIsThere) {
    EXPECT_EQ(host.request("GET", "/v1/namespaces/default/vfs/none/files/x").code(), "not-found");
    EXPECT_EQ(host.request("GET", "/v1/namespaces/default/vfs/No/files/x").code(), "invalid-name");
    host.on_loop([&] { host.service().refuse = Failure(Kind::forbidden, "not yours"); });
    EXPECT_EQ(get("/x").code(), "forbidden");
}

}  // namespace
}  // namespace host::api::testing
