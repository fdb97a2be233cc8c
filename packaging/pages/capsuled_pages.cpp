// capsuled-pages FOLDER: writes the manual page capsuled.8 and the configuration file
// capsuled.conf, all of it commented out, from the options that `capsuled --help` shows.

#include "host/config/config.hpp"
#include "packaging/pages/roff.hpp"
#include "packaging/pages/write_file.hpp"

#include <vector>

namespace {

using host::config::OptionText;
using pages::roff_bold;
using pages::roff_text;

std::string manual() {
    std::string out = pages::roff_title("CAPSULED", "8");
    out += ".SH NAME\ncapsuled \\- run capsules: commands in throwaway Linux machines\n";
    out += ".SH SYNOPSIS\n" + roff_bold("capsuled [OPTIONS]") + "\n.br\n" +
           roff_bold("capsuled doctor [--json] [--no-boot]") + "\n";
    out += ".SH DESCRIPTION\n" +
           roff_text(
               "The daemon of the capsule host. It keeps definitions, file systems and "
               "secrets, starts a virtual machine through libvirt for each run, and serves "
               "HTTP and JSON on a Unix socket, whose users equal root, and on request on "
               "TCP. SIGTERM ends the daemon and leaves runs alive; the next one takes them "
               "back. `capsuled doctor` says what this host can do, and what to do about "
               "what it cannot.") +
           "\n.SH OPTIONS\n" +
           roff_text(
               "Each is also a line `name = value` of the configuration file; the command "
               "line wins.") +
           "\n";
    for (const OptionText& option : host::config::option_texts()) {
        out += ".TP\n" + roff_bold("--" + option.name + " " + option.value) + "\n";
        out += roff_text(option.help);
        if (!option.standard.empty()) out += roff_text(" (default: " + option.standard + ")");
        out += "\n";
    }
    out += ".TP\n" + roff_bold("--config FILE") + "\nconfiguration file\n";
    out += ".TP\n" + roff_bold("--version") + "\nprint the version\n";
    out += ".TP\n" + roff_bold("--help") + "\nprint all options\n";
    out += ".SH FILES\n.TP\n/etc/capsuled/capsuled.conf\nconfiguration\n";
    out += ".TP\n/etc/capsuled/secret.key\nkey that seals secrets; without it they are lost\n";
    out += ".TP\n/var/lib/capsuled\ndatabase, file systems, images, disks of runs\n";
    out += ".TP\n/run/capsuled/api.sock\nthe API\n";
    return out + ".SH SEE ALSO\n" + roff_bold("mt") + "(1)\n";
}

std::string configuration() {
    std::string out =
        "# Configuration of capsuled. Lines `name = value`; those below are commented out and "
        "show\n"
        "# the defaults. The command line wins. After a change: systemctl restart capsuled\n"
        "# (runs go on).\n";
    for (const OptionText& option : host::config::option_texts()) {
        out += "\n# " + option.value + ": " + option.help + "\n#" + option.name + " =" +
               (option.standard.empty() ? "" : " " + option.standard) + "\n";
    }
    return out;
}

}  // namespace

int main(int count, char** words) {
    if (count != 2) {
        std::cerr << "Usage: capsuled-pages FOLDER\n";
        return 2;
    }
    const std::string folder(words[1]);
    pages::write_file(folder + "/capsuled.8", manual());
    pages::write_file(folder + "/capsuled.conf", configuration());
    return 0;
}
