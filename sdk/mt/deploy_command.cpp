// mt deploy: sends the definitions of a folder.

#include "sdk/mt/context.hpp"
#include "sdk/mt/handlers.hpp"

#include <algorithm>
#include <filesystem>
#include <fstream>

namespace mt {
namespace {

namespace fs = std::filesystem;
using protocol::fail;
using protocol::Kind;

constexpr std::size_t file_limit = 1u << 20;
constexpr std::size_t files_limit = 10'000;

// Definition files are *.mtr, *.mtc and their like; data beside them is no business of a deploy.
bool is_definition(const fs::path& path) {
    const std::string extension = path.extension().string();
    return extension.size() == 4 && extension.starts_with(".mt");
}

bool is_supported(const std::string& path) {
    return path.starts_with("capsules/") && path.ends_with(".mtr");
}

Result<std::string> read_definition(const fs::path& path) {
    std::ifstream file(path, std::ios::binary);
    std::string text(file_limit + 1, '\0');
    file.read(text.data(), static_cast<std::streamsize>(text.size()));
    if (file.bad() || !file.is_open()) {
        return fail(Kind::io, "cannot read " + path.string());
    }
    text.resize(static_cast<std::size_t>(file.gcount()));
    if (text.size() > file_limit) {
        return fail(Kind::too_large, path.string() + " is larger than 1 MiB");
    }
    return text;
}

Result<std::vector<sdk::SourceFile>> collect(const fs::path& folder) {
    std::error_code error;
    if (!fs::is_directory(folder, error)) {
        return fail(Kind::invalid_argument, folder.string() + " is not a folder");
    }
    std::vector<sdk::SourceFile> files;
    fs::recursive_directory_iterator it(folder, error), end;
    for (; !error && it != end; it.increment(error)) {
        const std::string name = it->path().filename().string();
        if (name.starts_with('.')) {
            it.disable_recursion_pending();
            continue;
        }
        std::error_code ignored;
        if (!it->is_regular_file(ignored) || !is_definition(it->path())) continue;
        sdk::SourceFile file;
        file.path = it->path().lexically_relative(folder).generic_string();
        // Kinds that are not supported are only named.
        if (is_supported(file.path)) {
            TRY(file.content, read_definition(it->path()));
        }
        files.push_back(std::move(file));
        if (files.size() > files_limit) {
            return fail(Kind::too_large, folder.string() + " has more than 10000 definitions");
        }
    }
    if (error) return fail(Kind::io, folder.string() + ": " + error.message());
    if (std::none_of(files.begin(), files.end(),
                     [](const sdk::SourceFile& file) { return is_supported(file.path); })) {
        return fail(Kind::invalid_argument,
                    "there is no capsules/*.mtr in " + folder.string() +
                        "; a deploy takes the folder that has the folder capsules in it");
    }
    std::sort(files.begin(), files.end(),
              [](const auto& a, const auto& b) { return a.path < b.path; });
    return files;
}

void print_diagnostics(Context& context, const fs::path& folder,
                       const std::vector<sdk::Diagnostic>& diagnostics) {
    for (const sdk::Diagnostic& diagnostic : diagnostics) {
        std::string line = (folder / diagnostic.file).lexically_normal().string();
        if (diagnostic.line > 0) {
            line += ":" + std::to_string(diagnostic.line) + ":" +
                    std::to_string(std::max<std::uint64_t>(diagnostic.column, 1));
        }
        line += ": ";
        const bool named = diagnostic.message.find(diagnostic.name) != std::string::npos;
        if (!named) line += diagnostic.name + ": ";
        write_all(2, presentable(line + diagnostic.message, is_terminal(2)) + "\n");
    }
    context.note("nothing was deployed");
}

}  // namespace

Result<int> run_deploy(Context& context) {
    const fs::path folder = context.arguments().positional(0);
    TRY(const auto files, collect(folder));
    TRY(const sdk::DeployReport report, context.client().deploy(context.space(), files));
    if (context.json()) context.print_json(report.document);
    if (!report.diagnostics.empty()) {
        if (!context.json()) print_diagnostics(context, folder, report.diagnostics);
        return exit_usage;
    }
    if (context.json()) return exit_success;
    const auto print_all = [&](std::string_view title, const std::vector<std::string>& names) {
        for (const std::string& name : names) {
            context.print_foreign(std::string(title) + " " + name + "\n");
        }
    };
    print_all("created  ", report.created);
    print_all("updated  ", report.updated);
    print_all("unchanged", report.unchanged);
    print_all("skipped  ", report.skipped);
    return exit_success;
}

}  // namespace mt
