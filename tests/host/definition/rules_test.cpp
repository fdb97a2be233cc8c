#include "host/definition/rules.hpp"

#include <gtest/gtest.h>

namespace host::definition {
namespace {

TEST(Rules, Users) {
    for (const char* name : {"sandbox", "builder", "a", "ann_2", "x-y"}) {
        EXPECT_FALSE(check_new_user(name)) << name;
    }
    for (const char* name : {"", "root", "daemon", "maitento", "operator", "nogroup", "www-data",
                             "_apt", "systemd-x", "../etc", "Ann", "1ann", "-x", "a b", "a:b", "a$",
                             "a.b", "_x", "abcdefghijklmnopqrstuvwxyz1234567"}) {
        EXPECT_TRUE(check_new_user(name)) << name;
    }
    EXPECT_FALSE(check_user("root"));
    EXPECT_FALSE(check_user("_apt"));
    EXPECT_TRUE(check_user("a;b"));
}

TEST(Rules, Packages) {
    for (const char* name :
         {"jq", "sqlite3", "g++", "g++-12", "libstdc++6", "python3.11", "0ad", "r-base"}) {
        EXPECT_FALSE(check_package(name)) << name;
    }
    for (const char* name : {"",       "a",        "-y",      "--download-only",
                             "jq-",    "jq+",      "./x.deb", "/tmp/x.deb",
                             "jq=1.6", "jq/sid",   "JQ",      "jq ",
                             "j q",    "jq:arm64", "jq*",     "^jq",
                             "?all",   "~n",       "+jq",     ".jq",
                             "j\nq"}) {
        EXPECT_TRUE(check_package(name)) << name;
    }
}

TEST(Rules, Hosts) {
    for (const char* host :
         {"example.org", "*.example.org", "a-b.c0", "localhost", "xn--bcher-kva.example"}) {
        EXPECT_FALSE(check_host_pattern(host)) << host;
    }
    for (const char* host :
         {"", "*", "*.", "*.*.org", "a.*.org", "http://example.org", "example.org/x",
          "example.org:80", "192.0.2.1", "[::1]", "::1", "-a.org", "a-.org", "a..org", ".org",
          "example.org.", "a b", "b\u00fccher.example", "*example.org"}) {
        EXPECT_TRUE(check_host_pattern(host)) << host;
    }
}

TEST(Rules, VariableNames) {
    for (const char* name : {"A", "_x", "LANG", "a1"})
        EXPECT_FALSE(check_variable_name(name)) << name;
    for (const char* name : {"", "1A", "A-B", "A=B", "A B", "\u00e9"})
        EXPECT_TRUE(check_variable_name(name)) << name;
}

TEST(Rules, WorkingDirectories) {
    EXPECT_FALSE(check_working_directory("/"));
    EXPECT_FALSE(check_working_directory("/mnt/data"));
    EXPECT_TRUE(check_working_directory("data"));
    EXPECT_TRUE(check_working_directory(""));
    EXPECT_TRUE(check_working_directory(std::string("/a\0b", 4)));
    EXPECT_TRUE(check_working_directory("/" + std::string(5000, 'a')));
}

TEST(Rules, Sizes) {
    EXPECT_EQ(parse_size("512M"), 512ull << 20);
    EXPECT_EQ(parse_size("2G"), 2ull << 30);
    for (const char* text :
         {"", "M", "512", "0M", "-1M", "1.5G", "2g", "2GB", "2GiB", " 2G", "2 G", "99999999999G"}) {
        EXPECT_FALSE(parse_size(text)) << text;
    }
}

}  // namespace
}  // namespace host::definition
