#include "host/storage/program.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <gtest/gtest.h>

namespace host::storage {
namespace {

using namespace std::chrono_literals;
using End = ProgramOutcome::End;

ProgramOutcome run(std::vector<std::string> arguments, std::chrono::milliseconds limit = 10s) {
    ProgramRequest request;
    request.arguments = std::move(arguments);
    request.limit = limit;
    auto outcome = run_program(request);
    EXPECT_TRUE(outcome);
    return outcome ? std::move(*outcome) : ProgramOutcome();
}

TEST(RunProgram, TellsExitCodeAndBothOutputs) {
    const auto outcome = run({"sh", "-c", "echo out; echo err >&2; exit 3"});
    EXPECT_EQ(outcome.end, End::exited);
    EXPECT_EQ(outcome.code, 3);
    EXPECT_EQ(outcome.output, "out\nerr\n");
}

TEST(RunProgram, TellsASignal) {
    const auto outcome = run({"sh", "-c", "kill -SEGV $$"});
    EXPECT_EQ(outcome.end, End::killed_by_signal);
    EXPECT_EQ(outcome.code, SIGSEGV);
}

TEST(RunProgram, EndsAtItsLimit) {
    const auto start = std::chrono::steady_clock::now();
    EXPECT_EQ(run({"sleep", "60"}, 50ms).end, End::timed_out);
    EXPECT_LT(std::chrono::steady_clock::now() - start, 10s);
}

TEST(RunProgram, EndsWhenTheCallerHasSeenEnough) {
    ProgramRequest request;
    request.arguments = {"sh", "-c", "echo ready; exec sleep 60"};
    request.enough = [](std::string_view output) { return output.find("ready") != output.npos; };
    const auto outcome = run_program(request);
    ASSERT_TRUE(outcome);
    EXPECT_EQ(outcome->end, End::enough);
}

TEST(RunProgram, DoesNotWaitForABackgroundChildThatHoldsTheOutput) {
    const auto start = std::chrono::steady_clock::now();
    EXPECT_EQ(run({"sh", "-c", "sleep 5 & echo started"}).output, "started\n");
    EXPECT_LT(std::chrono::steady_clock::now() - start, 4s);
}

TEST(RunProgram, BoundsTheOutput) {
    EXPECT_EQ(run({"sh", "-c", "head -c 1000000 /dev/zero"}).output.size(), 65'536u);
}

TEST(RunProgram, HandsOnNoDescriptor) {
    const int open_fd = open("/dev/null", O_RDONLY);  // on purpose without O_CLOEXEC
    ASSERT_GE(open_fd, 0);
    // The shell's `ls` has 0, 1, 2 and the folder it reads.
    EXPECT_EQ(run({"ls", "/proc/self/fd"}).output, "0\n1\n2\n3\n");
    close(open_fd);
}

TEST(RunProgram, HandsOnNoEnvironment) {
    setenv("CANARY", "1", 1);
    EXPECT_EQ(run({"env"}).output.find("CANARY"), std::string::npos);
    unsetenv("CANARY");
}

TEST(RunProgram, NamesAProgramThatIsNotThere) {
    ProgramRequest request;
    request.arguments = {"no-such-program-xyz"};
    const auto outcome = run_program(request);
    ASSERT_FALSE(outcome);
    EXPECT_EQ(outcome.error().kind(), protocol::Kind::not_found);
    EXPECT_NE(outcome.error().message().find("no-such-program-xyz"), std::string::npos);
}

TEST(RunProgramChecked, CarriesTheProgramsOwnWords) {
    ProgramRequest request;
    request.arguments = {"sh", "-c", "echo no room >&2; exit 1"};
    const auto output = run_program_checked(request);
    ASSERT_FALSE(output);
    EXPECT_NE(output.error().message().find("no room"), std::string::npos);
}

}  // namespace
}  // namespace host::storage
