#include "host/definition/properties.hpp"

#include "protocol/base/name.hpp"

#include <algorithm>
#include <numeric>

namespace host::definition {

namespace {

char lower(char c) {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
}

// Edits from one to the other, letter case ignored; two letters swapped are one edit.
std::size_t distance(std::string_view a, std::string_view b) {
    std::vector<std::size_t> before, above(b.size() + 1), row(b.size() + 1);
    std::iota(above.begin(), above.end(), std::size_t{0});
    for (std::size_t i = 0; i < a.size(); ++i) {
        row[0] = i + 1;
        for (std::size_t j = 0; j < b.size(); ++j) {
            const bool same = lower(a[i]) == lower(b[j]);
            row[j + 1] = std::min({above[j] + (same ? 0u : 1u), above[j + 1] + 1, row[j] + 1});
            const bool swapped =
                i > 0 && j > 0 && lower(a[i]) == lower(b[j - 1]) && lower(a[i - 1]) == lower(b[j]);
            if (swapped) row[j + 1] = std::min(row[j + 1], before[j - 1] + 1);
        }
        before = above;
        above = row;
    }
    return above.back();
}

}  // namespace

std::optional<std::string_view> resembling(std::string_view text,
                                           const std::vector<std::string_view>& candidates) {
    if (text.size() > 64) return std::nullopt;
    std::optional<std::string_view> best;
    std::size_t best_distance = std::max<std::size_t>(1, text.size() / 3) + 1;
    for (const std::string_view candidate : candidates) {
        if (const std::size_t d = distance(text, candidate); d < best_distance) {
            best = candidate;
            best_distance = d;
        }
    }
    return best;
}

void read_properties(const Object& object, Position at, const std::vector<Property>& properties,
                     Findings& findings) {
    for (const Entry& entry : object) {
        const auto known = std::ranges::find(properties, entry.name, &Property::name);
        if (known != properties.end()) {
            known->read(entry.value);
            continue;
        }
        std::vector<std::string_view> names;
        for (const Property& property : properties) names.push_back(property.name);
        std::string message = "unknown property '" + protocol::escape_foreign(entry.name, 60) + "'";
        if (const auto meant = resembling(entry.name, names)) {
            message += "; did you mean '" + std::string(*meant) + "'?";
        }
        findings.add(entry.at, entry.name, std::move(message));
    }
    for (const Property& property : properties) {
        if (property.need == Property::Need::optional) continue;
        if (std::ranges::find(object, property.name, &Entry::name) != object.end()) continue;
        findings.add(at, std::string(property.name),
                     "property '" + std::string(property.name) + "' is missing");
    }
}

}  // namespace host::definition
