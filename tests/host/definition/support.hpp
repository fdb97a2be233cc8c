#pragma once
// What the tests of this folder share: a parse that must succeed, a parse that must not.

#include "host/definition/parser.hpp"

#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

namespace host::definition::testing {

inline model::Definition accepted(std::string_view text) {
    auto result = parse(text, "capsules/x.mtr", "team");
    if (auto* findings = std::get_if<std::vector<sandbox::Diagnostic>>(&result)) {
        for (const auto& finding : *findings) {
            ADD_FAILURE() << finding.line << ":" << finding.column << " " << finding.message;
        }
        return {};
    }
    return std::get<model::Definition>(std::move(result));
}

inline std::vector<sandbox::Diagnostic> refused(std::string_view text) {
    auto result = parse(text, "capsules/x.mtr", "team");
    if (auto* findings = std::get_if<std::vector<sandbox::Diagnostic>>(&result))
        return std::move(*findings);
    ADD_FAILURE() << "accepted: " << text;
    return {};
}

// The only finding.
inline sandbox::Diagnostic finding(std::string_view text) {
    auto findings = refused(text);
    EXPECT_EQ(findings.size(), 1u) << text;
    return findings.empty() ? sandbox::Diagnostic() : findings.front();
}

// "line:column name", to compare in one go.
inline std::string place(const sandbox::Diagnostic& finding) {
    return std::to_string(finding.line) + ":" + std::to_string(finding.column) + " " + finding.name;
}

}  // namespace host::definition::testing
