// mt vfs put and get over a file system kept in a map.

#include "sdk/mt/transfer.hpp"

#include "tests/sdk/fake_daemon.hpp"
#include "tests/sdk/mt/program.hpp"

#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <sstream>

#include <boost/json/serialize.hpp>
#include <gtest/gtest.h>

namespace {

namespace fs = std::filesystem;
namespace json = boost::json;
using fake::Exchange;
using fake::FakeDaemon;

TEST(TransferPaths, AreMadePlain) {
    EXPECT_EQ(mt::join_path("", ""), "/");
    EXPECT_EQ(mt::join_path("a//b/", "c"), "/a/b/c");
    EXPECT_EQ(mt::join_path("/a/", ""), "/a");
    EXPECT_EQ(mt::last_part("/a/b/"), "b");
    for (const char* name : {"", ".", "..", "a/b", "/x"}) {
        EXPECT_FALSE(mt::is_plain_file_name(name)) << name;
    }
    EXPECT_FALSE(mt::is_plain_file_name(std::string("a\0b", 3)));
    EXPECT_TRUE(mt::is_plain_file_name("-rf"));
}

std::string decode(const std::string& text) {
    std::string out;
    for (std::size_t i = 0; i < text.size(); ++i) {
        if (text[i] == '%') {
            out.push_back(static_cast<char>(std::stoi(text.substr(i + 1, 2), nullptr, 16)));
            i += 2;
        } else {
            out.push_back(text[i]);
        }
    }
    return out;
}

class Transfer : public testing::Test {
  protected:
    Transfer() : daemon_([this](Exchange& exchange) { answer(exchange); }) {
        local_ = daemon_.folder() + "/local";
        fs::create_directories(local_);
    }

    void answer(Exchange& exchange) {
        const std::string prefix = "/v1/namespaces/default/vfs/data/files";
        std::string path = decode(exchange.path().substr(prefix.size()));
        if (path.size() > 1 && path.ends_with('/')) path.pop_back();
        if (exchange.method == "PUT") {
            files_[path] = exchange.body;
            return exchange.answer(201, "");
        }
        if (exchange.method == "POST") {
            folders_.insert(path);
            return exchange.answer(201, "");
        }
        const bool folder = path == "/" || folders_.contains(path);
        if (!folder && !files_.contains(path)) {
            return exchange.problem(404, "not-found", "there is no " + path);
        }
        if (exchange.has_query("stat=true")) {
            return exchange.answer(200, json::serialize(entry(path, folder ? "folder" : "file")));
        }
        if (!folder) return exchange.answer(200, files_[path], "application/octet-stream");
        json::array entries;
        const std::string within = path == "/" ? "/" : path + "/";
        const auto add = [&](const std::string& name, const char* type) {
            if (!name.starts_with(within) || name.find('/', within.size()) != std::string::npos)
                return;
            entries.push_back(entry(name, type));
        };
        for (const auto& [name, content] : files_) add(name, "file");
        for (const auto& name : folders_) add(name, "folder");
        for (const json::object& hostile : hostile_) entries.push_back(hostile);
        json::object listing;
        listing["entries"] = std::move(entries);
        exchange.answer(200, json::serialize(listing));
    }

    json::object entry(const std::string& path, const char* type) {
        json::object object;
        object["name"] = mt::last_part(path);
        object["type"] = type;
        const auto file = files_.find(path);
        object["size"] = file == files_.end() ? 0 : file->second.size();
        return object;
    }

    program::Outcome mt(std::vector<std::string> words, const std::string& input = "") {
        words.insert(words.begin(), "vfs");
        return program::run(words, {{"MAITENTO_URL", daemon_.url()}}, input);
    }
    void write_local(const std::string& name, const std::string& content) {
        fs::create_directories(fs::path(local_ + "/" + name).parent_path());
        std::ofstream(local_ + "/" + name, std::ios::binary) << content;
    }
    std::string read_local(const std::string& name) {
        std::ifstream file(local_ + "/" + name, std::ios::binary);
        std::stringstream content;
        content << file.rdbuf();
        return content.str();
    }
    std::vector<std::string> remote_names() const {
        std::vector<std::string> names;
        for (const auto& [name, content] : files_) names.push_back(name);
        return names;
    }

    std::map<std::string, std::string> files_;
    std::set<std::string> folders_;
    std::vector<json::object> hostile_;
    std::string local_;
    FakeDaemon daemon_;
};

using Names = std::vector<std::string>;

TEST_F(Transfer, PutsAFileWhereItIsAskedTo) {
    const std::string content("a\0b\xFF", 4);
    write_local("x.bin", content);
    folders_.insert("/in");
    EXPECT_EQ(mt({"put", "data", local_ + "/x.bin"}).code, 0);
    EXPECT_EQ(mt({"put", "data", local_ + "/x.bin", "/other.bin"}).code, 0);
    EXPECT_EQ(mt({"put", "data", local_ + "/x.bin", "/new/"}).code, 0);
    EXPECT_EQ(mt({"put", "data", local_ + "/x.bin", "/in"}).code, 0);
    EXPECT_EQ(remote_names(), (Names{"/in/x.bin", "/new/x.bin", "/other.bin", "/x.bin"}));
    EXPECT_EQ(files_["/in/x.bin"], content);
}

TEST_F(Transfer, PutsStandardInput) {
    EXPECT_EQ(mt({"put", "data", "-", "/notes"}, "from a pipe").code, 0);
    EXPECT_EQ(files_["/notes"], "from a pipe");
    EXPECT_EQ(mt({"put", "data", "-"}).code, 2);  // before it reads anything
}

TEST_F(Transfer, PutsFoldersWholeAndLeavesOutLinks) {
    write_local("folder/a.txt", "A");
    write_local("folder/deep/b c.txt", "B");
    fs::create_directory(local_ + "/folder/empty");
    fs::create_symlink("/etc/passwd", local_ + "/folder/link");
    const auto outcome = mt({"put", "data", local_ + "/folder"});
    EXPECT_EQ(outcome.code, 0);
    EXPECT_EQ(outcome.out, "Uploaded 2 files, 2 B\n");
    EXPECT_NE(outcome.err.find("left out"), std::string::npos);
    EXPECT_EQ(remote_names(), (Names{"/folder/a.txt", "/folder/deep/b c.txt"}));
    EXPECT_TRUE(folders_.contains("/folder/empty"));

    files_.clear();
    EXPECT_EQ(mt({"put", "data", local_ + "/folder/", "/"}).code, 0);
    EXPECT_EQ(remote_names(), (Names{"/a.txt", "/deep/b c.txt"}));
}

TEST_F(Transfer, GetsFilesAndStandardOutput) {
    files_["/r.md"] = "| a |\n";
    EXPECT_EQ(mt({"get", "data", "/r.md", "-"}).out, "| a |\n");
    EXPECT_EQ(mt({"get", "data", "r.md", local_ + "/out.md"}).code, 0);
    EXPECT_EQ(read_local("out.md"), "| a |\n");
    EXPECT_EQ(mt({"get", "data", "/r.md", local_}).code, 0);
    EXPECT_EQ(read_local("r.md"), "| a |\n");
    EXPECT_EQ(mt({"get", "data", "/none", "-"}).code, 3);
    EXPECT_EQ(std::distance(fs::directory_iterator(local_), fs::directory_iterator()), 2);
}

TEST_F(Transfer, GetsFoldersAndNothingThatLeadsOut) {
    folders_ = {"/f", "/f/deep"};
    files_ = {{"/f/a", "A"}, {"/f/deep/b", "B"}};
    for (const char* name : {"..", "../../escaped", "/etc/escaped", ""}) {
        json::object object;
        object["name"] = name;
        object["type"] = "file";
        hostile_.push_back(std::move(object));
    }
    json::object link;
    link["name"] = "link";
    link["type"] = "link";
    hostile_.push_back(std::move(link));
    const auto outcome = mt({"get", "data", "/f", local_ + "/copy"});
    EXPECT_EQ(outcome.code, 0) << outcome.err;
    EXPECT_EQ(read_local("copy/a"), "A");
    EXPECT_EQ(read_local("copy/deep/b"), "B");
    EXPECT_FALSE(fs::exists(local_ + "/escaped"));
    EXPECT_FALSE(fs::exists(daemon_.folder() + "/escaped"));
    EXPECT_EQ(std::distance(fs::directory_iterator(local_ + "/copy"), fs::directory_iterator()), 2);
}

TEST_F(Transfer, ListsNames) {
    folders_ = {"/f"};
    files_ = {{"/a", "12345"}};
    EXPECT_EQ(mt({"ls", "data"}).out, "a\nf/\n");
    EXPECT_EQ(mt({"ls", "data", "/a"}).out, "a\n");
}

}  // namespace
