// Opening a database: a new one, an old friend, a damaged one, one from the future.

#include "host/journal/database.hpp"

#include <filesystem>
#include <fstream>
#include <sys/stat.h>

#include <gtest/gtest.h>
#include <sqlite3.h>

namespace host::journal {
namespace {

class DatabaseOpen : public ::testing::Test {
  protected:
    void SetUp() override {
        std::string pattern = (std::filesystem::temp_directory_path() / "journal-XXXXXX").string();
        ASSERT_NE(::mkdtemp(pattern.data()), nullptr);
        folder_ = pattern;
        path_ = folder_ + "/state.db";
    }
    void TearDown() override { std::filesystem::remove_all(folder_); }

    std::string folder_, path_;
};

TEST_F(DatabaseOpen, KeepsTheInstallationOverAReopen) {
    std::string first;
    {
        auto database = Database::open(path_);
        ASSERT_TRUE(database) << database.error().describe();
        first = database->installation().str();
    }
    auto again = Database::open(path_);
    ASSERT_TRUE(again) << again.error().describe();
    EXPECT_EQ(again->installation().str(), first);
}

TEST_F(DatabaseOpen, TwoInstallationsDiffer) {
    auto one = Database::open(":memory:");
    auto other = Database::open(":memory:");
    ASSERT_TRUE(one && other);
    EXPECT_NE(one->installation().str(), other->installation().str());
}

TEST_F(DatabaseOpen, MakesAFileThatOnlyItsOwnerReads) {
    ASSERT_TRUE(Database::open(path_));
    struct stat status {};
    ASSERT_EQ(::stat(path_.c_str(), &status), 0);
    EXPECT_EQ(status.st_mode & 0777u, 0600u);
}

TEST_F(DatabaseOpen, SaysThatAFileIsNotADatabase) {
    std::ofstream(path_) << std::string(8'192, 'x');
    auto database = Database::open(path_);
    ASSERT_FALSE(database);
    EXPECT_EQ(database.error().code(), "database-damaged");
    EXPECT_NE(database.error().message().find(path_), std::string::npos);
    EXPECT_NE(database.error().message().find("backup"), std::string::npos);
}

TEST_F(DatabaseOpen, SaysThatADatabaseWasCutShort) {
    {
        auto database = Database::open(path_);
        ASSERT_TRUE(database);
        for (int i = 0; i < 200; ++i) {
            model::NamespaceRecord record;
            record.name = "space-" + std::to_string(i);
            ASSERT_TRUE(database->insert_namespace(record));
        }
    }
    std::filesystem::resize_file(path_, std::filesystem::file_size(path_) / 2);
    auto database = Database::open(path_);
    ASSERT_FALSE(database);
    EXPECT_EQ(database.error().code(), "database-damaged");
}

TEST_F(DatabaseOpen, RefusesANewerSchema) {
    ASSERT_TRUE(Database::open(path_));
    sqlite3* raw = nullptr;
    ASSERT_EQ(sqlite3_open(path_.c_str(), &raw), SQLITE_OK);
    ASSERT_EQ(sqlite3_exec(raw, "PRAGMA user_version = 99", nullptr, nullptr, nullptr), SQLITE_OK);
    sqlite3_close(raw);
    auto database = Database::open(path_);
    ASSERT_FALSE(database);
    EXPECT_EQ(database.error().code(), "database-newer");
    EXPECT_EQ(database.error().kind(), protocol::Kind::unsupported);
}

TEST_F(DatabaseOpen, NamesAFolderThatIsMissing) {
    auto database = Database::open(folder_ + "/absent/state.db");
    ASSERT_FALSE(database);
    EXPECT_NE(database.error().describe().find("absent/state.db"), std::string::npos);
}

TEST_F(DatabaseOpen, KeepsWhatWasCommittedBeforeAnAbruptEnd) {
    auto writer = Database::open(path_);
    ASSERT_TRUE(writer);
    model::NamespaceRecord record;
    record.name = "kept";
    ASSERT_TRUE(writer->insert_namespace(record));
    auto open_transaction = writer->begin(Durability::process);
    ASSERT_TRUE(open_transaction);
    // A copy of the files is what a killed process leaves.
    const std::string copy = folder_ + "/copy.db";
    std::filesystem::copy_file(path_, copy);
    std::filesystem::copy_file(path_ + "-wal", copy + "-wal");
    auto reader = Database::open(copy);
    ASSERT_TRUE(reader) << reader.error().describe();
    auto found = reader->find_namespace("kept");
    ASSERT_TRUE(found);
    EXPECT_TRUE(found->has_value());
}

}  // namespace
}  // namespace host::journal
