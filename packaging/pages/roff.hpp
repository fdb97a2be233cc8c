#pragma once
// The little of roff, the language of manual pages, that ours need.

#include <string>
#include <string_view>

namespace pages {

// Text as it is: what roff would take for its own is escaped, words in `backticks` become bold.
std::string roff_text(std::string_view text);
std::string roff_bold(std::string_view text);
// Lines kept as they are.
std::string roff_lines(std::string_view text);

// The first line: NAME(SECTION), of this version.
std::string roff_title(std::string_view name, std::string_view section);

}  // namespace pages
