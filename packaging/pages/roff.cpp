#include "packaging/pages/roff.hpp"

namespace pages {
namespace {

std::string escaped(std::string_view text) {
    std::string out;
    bool line_start = true;
    for (const char c : text) {
        if (line_start && (c == '.' || c == '\'')) out += "\\&";
        line_start = c == '\n';
        if (c == '\\') {
            out += "\\e";
        } else if (c == '-') {
            out += "\\-";  // a plain one becomes a hyphen that cannot be copied into a shell
        } else {
            out += c;
        }
    }
    return out;
}

}  // namespace

std::string roff_text(std::string_view text) {
    std::string out;
    bool bold = false;
    for (;;) {
        const std::size_t tick = text.find('`');
        out += escaped(text.substr(0, tick));
        if (tick == std::string_view::npos) break;
        bold = !bold;
        out += bold ? "\\fB" : "\\fR";
        text.remove_prefix(tick + 1);
    }
    return bold ? out + "\\fR" : out;
}

std::string roff_bold(std::string_view text) {
    return "\\fB" + escaped(text) + "\\fR";
}

std::string roff_lines(std::string_view text) {
    return ".nf\n" + escaped(text) + ".fi\n";
}

std::string roff_title(std::string_view name, std::string_view section) {
    return ".TH " + std::string(name) + " " + std::string(section) +
           " \"\" \"capsule-host " CAPSULE_VERSION "\"\n";
}

}  // namespace pages
