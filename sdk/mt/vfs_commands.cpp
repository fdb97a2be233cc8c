// mt vfs put, get, ls and rm.

#include "sdk/mt/context.hpp"
#include "sdk/mt/handlers.hpp"
#include "sdk/mt/transfer.hpp"

#include <unistd.h>

namespace mt {
namespace {

using protocol::fail;

int print_totals(Context& context, const Transfer& transfer, std::string_view verb) {
    const TransferTotals& totals = transfer.totals();
    if (context.json()) {
        boost::json::object document;
        document["files"] = totals.files;
        document["folders"] = totals.folders;
        document["bytes"] = totals.bytes;
        document["leftOut"] = totals.left_out;
        context.print_json(document);
    } else {
        context.print_line(std::string(verb) + " " + std::to_string(totals.files) +
                           (totals.files == 1 ? " file, " : " files, ") +
                           format_size(totals.bytes));
    }
    return exit_success;
}

}  // namespace

Result<int> put_files(Context& context) {
    const Arguments& arguments = context.arguments();
    Transfer transfer(context.client(), context.space(), arguments.positional(0),
                      is_terminal(STDERR_FILENO));
    TRY_VOID(transfer.put(arguments.positional(1), arguments.positional(2)));
    return print_totals(context, transfer, "Uploaded");
}

Result<int> get_files(Context& context) {
    const Arguments& arguments = context.arguments();
    Transfer transfer(context.client(), context.space(), arguments.positional(0),
                      is_terminal(STDERR_FILENO) && arguments.positional(2) != "-");
    TRY_VOID(transfer.get(arguments.positional(1), arguments.positional(2)));
    if (arguments.positional(2) == "-") return exit_success;  // the output is the file alone
    return print_totals(context, transfer, "Downloaded");
}

Result<int> list_files(Context& context) {
    const Arguments& arguments = context.arguments();
    const std::string path = join_path(arguments.positional(1), "");
    TRY(const sdk::VfsEntry entry,
        context.client().stat(context.space(), arguments.positional(0), path));
    std::vector<sdk::VfsEntry> entries{entry};
    if (entry.type == "folder") {
        TRY(entries, context.client().list(context.space(), arguments.positional(0), path));
    } else if (entries[0].name.empty()) {
        entries[0].name = last_part(path);
    }
    if (context.json()) {
        boost::json::array documents;
        for (const sdk::VfsEntry& item : entries) documents.push_back(item.document);
        context.print_json(documents);
        return exit_success;
    }
    if (!arguments.has("long")) {
        for (const sdk::VfsEntry& item : entries) {
            context.print_foreign(item.name + (item.type == "folder" ? "/" : "") + "\n");
        }
        return exit_success;
    }
    Table table({"TYPE", "MODE", "SIZE", "MODIFIED", "NAME"});
    for (const sdk::VfsEntry& item : entries) {
        table.add({item.type, item.mode, std::to_string(item.size), item.modified_at, item.name});
    }
    context.print_table(table);
    return exit_success;
}

Result<int> remove_files(Context& context) {
    const Arguments& arguments = context.arguments();
    TRY_VOID(context.client().remove(context.space(), arguments.positional(0),
                                     join_path(arguments.positional(1), ""),
                                     arguments.has("recursive")));
    return exit_success;
}

}  // namespace mt
