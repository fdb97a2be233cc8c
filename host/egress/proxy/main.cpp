// capsule-egress: the proxy between capsules and the network. Started by the daemon, which hands it
// one connection after another over the control socket; it listens on nothing. docs/network.md has
// the rules.

#include "host/egress/proxy/confinement.hpp"
#include "host/egress/proxy/server.hpp"

#include <csignal>
#include <cstdlib>
#include <fcntl.h>
#include <iostream>
#include <string>
#include <vector>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/program_options.hpp>
#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>

namespace {

namespace options = boost::program_options;
using namespace host::egress;

struct Arguments {
    int control_fd = -1;
    Identity identity;
    std::vector<AddressRange> allowed;
};

protocol::Result<Arguments> parse(int count, char** values) {
    Arguments arguments;
    std::vector<std::string> ranges;
    options::options_description known;
    known.add_options()("control-fd", options::value(&arguments.control_fd)->required())(
        "uid", options::value(&arguments.identity.uid)->required())(
        "gid", options::value(&arguments.identity.gid)->required())(
        "allow", options::value(&ranges)->composing());
    try {
        options::variables_map map;
        options::store(options::parse_command_line(count, values, known), map);
        options::notify(map);
    } catch (const options::error& wrong) {
        return protocol::fail(protocol::Kind::invalid_argument, wrong.what());
    }
    for (const std::string& text : ranges) {
        TRY(auto range, AddressRange::parse(text));
        arguments.allowed.push_back(std::move(range));
    }
    return arguments;
}

// A name server that does not answer must not hold a thread for half a minute.
void bound_lookups() {
    ::setenv("RES_OPTIONS", "timeout:3 attempts:2", 1);
}

}  // namespace

int main(int count, char** values) {
    spdlog::set_default_logger(spdlog::stderr_logger_st("capsule-egress"));
    auto arguments = parse(count, values);
    if (!arguments) {
        std::cerr << "capsule-egress: " << arguments.error().describe()
                  << "\ncapsule-egress is started by capsuled, not by hand.\n";
        return 2;
    }
    if (auto confined = confine(arguments->identity); !confined) {
        spdlog::critical("egress proxy not confined why=\"{}\"", confined.error().describe());
        return 1;
    }
    std::signal(SIGPIPE, SIG_IGN);
    bound_lookups();
    protocol::UniqueFd control(arguments->control_fd);
    if (::fcntl(control.get(), F_SETFD, FD_CLOEXEC) != 0) {
        spdlog::critical("egress proxy has no control socket");
        return 1;
    }
    boost::asio::io_context io(1);
    ProxyServer server(io.get_executor(), std::move(control),
                       AddressRules(std::move(arguments->allowed)));
    int status = 0;
    auto finished = [&](std::exception_ptr thrown) {
        status = thrown ? 1 : 0;
        io.stop();
    };
    boost::asio::co_spawn(io, server.run(), std::move(finished));
    io.run();
    // Look-ups under way would be waited for; nobody wants their answers any more.
    spdlog::shutdown();
    std::_Exit(status);
}
