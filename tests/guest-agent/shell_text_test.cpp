#include "protocol/text/shell_text.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace protocol {
namespace {

using testing::HasSubstr;

Result<std::string> with_arguments(std::string_view text) {
    return prepare_shell_text(text, ShellArguments::some);
}

TEST(ShellText, LosesTrailingWhiteSpaceOnly) {
    EXPECT_EQ(prepare_shell_text("  echo a \n\t\n", ShellArguments::none), std::string("  echo a"));
    EXPECT_EQ(prepare_shell_text("echo a # why;", ShellArguments::none),
              std::string("echo a # why;"));
}

TEST(ShellText, GetsTheParametersOnItsLastLine) {
    EXPECT_EQ(with_arguments("echo \n"), std::string("echo \"$@\""));
    EXPECT_EQ(with_arguments("cd /tmp\nls"), std::string("cd /tmp\nls \"$@\""));
}

TEST(ShellText, IsRefusedWhenEmptyOrWithNul) {
    EXPECT_FALSE(prepare_shell_text("", ShellArguments::none));
    EXPECT_FALSE(prepare_shell_text(" \n", ShellArguments::none));
    EXPECT_FALSE(prepare_shell_text(std::string_view("a\0b", 3), ShellArguments::none));
}

struct Case {
    const char* text;
    const char* reason;  // nullptr: arguments can follow
};

class ShellTextEnd : public testing::TestWithParam<Case> {};

TEST_P(ShellTextEnd, DecidesWhetherArgumentsCanFollow) {
    const auto prepared = with_arguments(GetParam().text);
    if (GetParam().reason == nullptr) {
        ASSERT_TRUE(prepared) << GetParam().text << ": " << prepared.error().message();
        EXPECT_EQ(*prepared, std::string(GetParam().text) + " \"$@\"");
    } else {
        ASSERT_FALSE(prepared) << GetParam().text;
        EXPECT_THAT(prepared.error().message(), HasSubstr(GetParam().reason));
    }
}

INSTANTIATE_TEST_SUITE_P(
    Texts, ShellTextEnd,
    testing::Values(
        Case{"echo", nullptr}, Case{"echo # why", "comment"}, Case{"# why", "comment"},
        Case{"echo a;# why", "comment"}, Case{"echo a#b", nullptr}, Case{"echo '# no'", nullptr},
        Case{"echo \"# no\"", nullptr}, Case{"echo \\# no", nullptr},
        Case{"echo # why\necho", nullptr}, Case{"echo $#", nullptr}, Case{"echo ${#x}", nullptr},
        Case{"echo ${x#y}", nullptr}, Case{"echo ${x# y}", nullptr},
        Case{"echo $(echo # it's\n)", nullptr}, Case{"sleep 1 &", "'&'"}, Case{"true &&", nullptr},
        Case{"echo >&2", nullptr}, Case{"echo;", "';'"}, Case{"echo \\;", nullptr},
        Case{"echo ';'", nullptr}, Case{"find . -exec ls {} \\;", nullptr},
        Case{"echo 'abc", "quote"}, Case{"echo \"abc", "quote"}, Case{"echo \"a 'b\"", nullptr},
        Case{"echo 'a \"b'", nullptr}, Case{"echo $'it\\'s'", nullptr},
        Case{"echo $(date", "bracket"}, Case{"echo \"$(echo \"a b\")\"", nullptr},
        Case{"echo `date`", nullptr}, Case{"echo `date", "bracket"}, Case{"echo a\\", "backslash"},
        Case{"cat <<X\na\nX", "here-document"}, Case{"cat <<< a", nullptr},
        Case{"echo '<<X'", nullptr}, Case{"(cd /; ls)", nullptr}));

}  // namespace
}  // namespace protocol
