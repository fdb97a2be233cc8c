// mt capsule run and start, runs and commands.

#include "tests/sdk/fake_daemon.hpp"
#include "tests/sdk/mt/program.hpp"

#include <atomic>
#include <signal.h>

#include <gtest/gtest.h>

namespace {

using fake::Exchange;
using fake::FakeDaemon;

std::string run_json(const std::string& status, const std::string& more = "") {
    return R"({"id":"r1","namespace":"default","capsule":"report","status":")" + status + "\"" +
           more + "}";
}

// Answers starts, waits and events of one run that ends as `final_status` says.
class OneRun {
  public:
    OneRun(std::string final_json) : final_(std::move(final_json)) {}
    void operator()(Exchange& exchange) {
        if (exchange.method == "POST" && exchange.path().ends_with("/terminate")) {
            stopped_ = true;
            exchange.answer(200, run_json("Terminated"));
        } else if (exchange.method == "POST") {
            exchange.answer(201, run_json("Starting"));
        } else if (exchange.path() == "/v1/events") {
            exchange.begin("text/event-stream");
            exchange.chunk("id: 1\nevent: run.phase\ndata: {\"run\":\"r1\"}\n\n");
        } else if (exchange.target.find("wait=") != std::string::npos) {
            exchange.answer(200, waits_for_stop_ && !stopped_ ? run_json("Running") : final_);
        } else {
            exchange.answer(200, run_json("Starting", R"(,"phase":"booting")"));
        }
    }
    std::atomic<bool> stopped_{false};
    bool waits_for_stop_ = false;

  private:
    std::string final_;
};

TEST(CapsuleRun, SucceedsWhenTheRunFinished) {
    OneRun run(run_json("Finished"));
    FakeDaemon daemon([&](Exchange& exchange) { run(exchange); });
    const auto outcome =
        program::run({"capsule", "run", "report"}, {{"MAITENTO_URL", daemon.url()}});
    EXPECT_EQ(outcome.code, 0);
    EXPECT_EQ(outcome.out, "Capsule finished: Finished\n");
    EXPECT_NE(outcome.err.find("run r1"), std::string::npos) << outcome.err;
}

TEST(CapsuleRun, FailsWithTheReasonWhenItDidNot) {
    OneRun run(
        run_json("Error", R"(,"failureDetails":"Startup command failed: python3 - no such file")"));
    FakeDaemon daemon([&](Exchange& exchange) { run(exchange); });
    const auto outcome =
        program::run({"capsule", "run", "report"}, {{"MAITENTO_URL", daemon.url()}});
    EXPECT_EQ(outcome.code, 1);
    EXPECT_EQ(outcome.out, "Capsule finished: Error\n");
    EXPECT_NE(outcome.err.find("Startup command failed: python3 - no such file"),
              std::string::npos);
}

TEST(CapsuleRun, CtrlCStopsTheRun) {
    OneRun run(run_json("Terminated"));
    run.waits_for_stop_ = true;
    FakeDaemon daemon([&](Exchange& exchange) { run(exchange); });
    program::Program mt({"capsule", "run", "report"}, {{"MAITENTO_URL", daemon.url()}});
    ASSERT_TRUE(daemon.wait_for_request("until=ended"));
    ::kill(mt.pid(), SIGINT);
    const auto outcome = mt.finish();
    EXPECT_TRUE(run.stopped_);
    EXPECT_EQ(outcome.code, 1);
    EXPECT_EQ(outcome.out, "Capsule finished: Terminated\n");
}

TEST(CapsuleStart, PrintsTheIdAlone) {
    OneRun run(run_json("Running"));
    FakeDaemon daemon([&](Exchange& exchange) { run(exchange); });
    EXPECT_EQ(program::run({"capsule", "start", "report"}, {{"MAITENTO_URL", daemon.url()}}).out,
              "r1\n");
    EXPECT_EQ(
        program::run({"capsule", "start", "report", "--wait"}, {{"MAITENTO_URL", daemon.url()}})
            .out,
        "r1\n");
    EXPECT_EQ(daemon.requests().back(), "GET /v1/runs/r1?wait=30s&until=started");
}

TEST(RunsList, FollowsPagesUpToItsLimit) {
    FakeDaemon daemon([](Exchange& exchange) {
        const bool second = exchange.has_query("after=cur");
        exchange.answer(200, R"({"items":[)" + run_json("Running") + "]" +
                                 (second ? "" : R"(,"next":"cur")") + "}");
    });
    const auto outcome = program::run({"runs", "list", "--live", "--all", "--limit", "2"},
                                      {{"MAITENTO_URL", daemon.url()}});
    EXPECT_EQ(outcome.out,
              "ID  CAPSULE         STATUS   CREATED  ENDED\n"
              "r1  default.report  Running\n"
              "r1  default.report  Running\n");
    EXPECT_EQ(daemon.requests(),
              (std::vector<std::string>{"GET /v1/runs?live=true&limit=2",
                                        "GET /v1/runs?live=true&limit=1&after=cur"}));
    EXPECT_EQ(program::run({"runs", "list", "--limit", "0"}, {{"MAITENTO_URL", daemon.url()}}).code,
              2);
}

TEST(RunsList, SaysWhichRunsAreEnding) {
    FakeDaemon daemon([](Exchange& exchange) {
        exchange.answer(200, R"({"items":[)" + run_json("Starting", R"(,"phase":"ending")") +
                                 R"(],"next":""})");
    });
    EXPECT_EQ(program::run({"runs", "list"}, {{"MAITENTO_URL", daemon.url()}}).out,
              "ID  CAPSULE  STATUS             CREATED  ENDED\n"
              "r1  report   Starting (ending)\n");
}

TEST(RunsPing, PrintsEachRoundTripAndTheirMedian) {
    int asked = 0;
    FakeDaemon daemon([&](Exchange& exchange) {
        const int times[] = {150, 900, 140};
        exchange.answer(200, R"({"roundTripUs":)" + std::to_string(times[asked++ % 3]) + "}");
    });
    const program::Environment environment{{"MAITENTO_URL", daemon.url()}};
    EXPECT_EQ(program::run({"runs", "ping", "r1", "--count", "3"}, environment).out,
              "150 us\n900 us\n140 us\nmedian 150 us, 140 to 900\n");
    EXPECT_EQ(daemon.requests().back(), "GET /v1/runs/r1/ping");
    EXPECT_EQ(program::run({"runs", "ping", "r1"}, environment).out, "150 us\n");
    EXPECT_EQ(program::run({"runs", "ping", "r1", "--json"}, environment).out,
              "{\n  \"roundTripUs\": [\n    900\n  ]\n}\n");
    EXPECT_EQ(program::run({"runs", "ping", "r1", "--count", "0"}, environment).code, 2);
}

TEST(RunsPing, FailsWhereTheDaemonRefuses) {
    FakeDaemon daemon([](Exchange& exchange) {
        exchange.problem(409, "run-ended", "the capsule has ended (Finished)");
    });
    const auto outcome = program::run({"runs", "ping", "r1"}, {{"MAITENTO_URL", daemon.url()}});
    EXPECT_EQ(outcome.code, 1);
    EXPECT_NE(outcome.err.find("the capsule has ended (Finished)"), std::string::npos);
}

TEST(CommandsShow, PrintsBothOutputs) {
    FakeDaemon daemon([](Exchange& exchange) {
        exchange.answer(200, R"({"id":"c1","runId":"r1","command":"ls","arguments":["-l"],
            "runAsUser":"sandbox","status":"Error","endReason":"exited","exitCode":2,
            "outputStandard":"a\nb","outputError":"oops\n","outputStandardFullLength":70000})");
    });
    const auto outcome =
        program::run({"commands", "show", "r1", "c1"}, {{"MAITENTO_URL", daemon.url()}});
    EXPECT_EQ(outcome.out,
              "id:         c1\n"
              "command:    ls -l\n"
              "user:       sandbox\n"
              "status:     Error\n"
              "exit code:  2\n"
              "end reason: exited\n"
              "---- standard output (the end of 70000 characters)\na\nb\n"
              "---- error output\noops\n");
}

TEST(CommandsKill, KnowsSignalsByName) {
    std::string asked;
    FakeDaemon daemon([&](Exchange& exchange) {
        asked = exchange.body;
        exchange.answer(200, R"({"id":"c1","status":"Running"})");
    });
    const program::Environment environment{{"MAITENTO_URL", daemon.url()}};
    EXPECT_EQ(program::run({"commands", "kill", "r1", "c1"}, environment).code, 0);
    EXPECT_EQ(asked, R"({"signal":9})");
    EXPECT_EQ(program::run({"commands", "kill", "r1", "c1", "-s", "SIGTERM"}, environment).code, 0);
    EXPECT_EQ(asked, R"({"signal":15})");
    EXPECT_EQ(program::run({"commands", "kill", "r1", "c1", "-s", "2"}, environment).code, 0);
    EXPECT_EQ(asked, R"({"signal":2})");
    EXPECT_EQ(program::run({"commands", "kill", "r1", "c1", "-s", "WHAT"}, environment).code, 2);
}

}  // namespace
