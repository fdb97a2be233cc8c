// mt: the command line of the capsule host, on the host and inside capsules.

#include "sdk/mt/context.hpp"
#include "sdk/mt/report.hpp"

#include <unistd.h>

int main(int argc, char** argv) {
    const std::vector<std::string> words(argv + 1, argv + argc);
    auto arguments = mt::Arguments::parse(words);
    if (!arguments) {
        const bool exec = !words.empty() && words[0] == "exec";
        mt::report(arguments.error(), mt::Environment::from_process());
        return exec ? mt::exit_own_failure : mt::exit_usage;
    }
    const mt::CommandSpec& spec = arguments->spec();
    auto context = mt::Context::make(std::move(*arguments), mt::Environment::from_process());
    if (!context) {
        mt::report(context.error(), mt::Environment::from_process());
        return spec.failure_code != 0 ? spec.failure_code : mt::exit_usage;
    }
    const auto code = spec.run(*context);
    if (code) return *code;
    mt::report(code.error(), context->environment());
    return spec.failure_code != 0 ? spec.failure_code : mt::exit_code_of(code.error());
}
