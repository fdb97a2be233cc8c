// mt exec against a daemon that plays one command: exit codes, live output, restarts, signals,
// input.

#include "sdk/cpp/output_records.hpp"
#include "tests/sdk/fake_daemon.hpp"
#include "tests/sdk/mt/program.hpp"

#include <atomic>
#include <future>
#include <mutex>
#include <signal.h>

#include <boost/json/parse.hpp>
#include <gtest/gtest.h>

namespace {

using fake::Exchange;
using fake::FakeDaemon;
using sdk::encode_output_record;
using sdk::OutputStream;
using Type = sdk::OutputRecord::Type;

std::string command_json(const std::string& status, const std::string& more) {
    return R"({"id":"c1","runId":"r1","command":"x","status":")" + status + "\"" + more + "}";
}
std::string ended(int code) {
    return command_json(code == 0 ? "Finished" : "Error", ",\"exitCode\":" + std::to_string(code));
}
std::string standard(std::uint64_t offset, const std::string& bytes) {
    return encode_output_record(Type::bytes, OutputStream::standard, offset, bytes);
}
std::string error_output(std::uint64_t offset, const std::string& bytes) {
    return encode_output_record(Type::bytes, OutputStream::error, offset, bytes);
}
std::string end_record(const std::string& command) {
    return encode_output_record(Type::command_ended, OutputStream{}, 0, command);
}

// One test's command. `output` answers GET .../output; the rest is the same for all.
class Exec : public testing::Test {
  protected:
    Exec() : daemon_([this](Exchange& exchange) { answer(exchange); }) {}
    // Before members of a derived fixture, which its threads use, are gone.
    void TearDown() override { daemon_.stop(); }

    void answer(Exchange& exchange) {
        const std::string path = exchange.path();
        if (path.ends_with("/commands")) {
            request_ = exchange.body;
            exchange.answer(201, command_json("Queued", ""));
        } else if (path.ends_with("/output")) {
            ++followed_;
            output_(exchange);
        } else if (path.ends_with("/kill")) {
            const int signal =
                static_cast<int>(boost::json::parse(exchange.body).at("signal").as_int64());
            killed_ = signal;
            killed_.notify_all();
            exchange.answer(200, command_json("Running", ""));
        } else if (path.ends_with("/input")) {
            take_input(exchange);
        } else {
            exchange.answer(200, state_);
        }
    }
    virtual void take_input(Exchange& exchange) { exchange.answer(204, ""); }

    void whole(const std::string& records) {
        output_ = [records](Exchange& exchange) {
            exchange.begin("application/vnd.capsule.output");
            exchange.chunk(records);
            exchange.end();
        };
    }
    std::vector<std::string> words(std::vector<std::string> options = {},
                                   std::vector<std::string> command = {"x"}) {
        std::vector<std::string> all{"exec"};
        all.insert(all.end(), options.begin(), options.end());
        all.insert(all.end(), {"r1", "--"});
        all.insert(all.end(), command.begin(), command.end());
        return all;
    }
    program::Environment environment() const { return {{"MAITENTO_URL", daemon_.url()}}; }
    program::Outcome exec(std::vector<std::string> options = {}, const std::string& input = "") {
        return program::run(words(std::move(options)), environment(), input);
    }

    std::function<void(Exchange&)> output_;
    std::string request_, state_ = command_json("Running", "");
    std::atomic<int> followed_{0}, killed_{0};
    FakeDaemon daemon_;
};

TEST_F(Exec, ExitsWithTheCommandsCode) {
    for (const int code : {0, 1, 44, 127, 137, 255}) {
        whole(end_record(ended(code)));
        EXPECT_EQ(exec().code, code);
    }
}

TEST_F(Exec, SendsWordsAndOptionsAsTheyAre) {
    whole(end_record(ended(0)));
    program::run(
        words({"-u", "sandbox", "--timeout", "00:00:30", "--async", "-e", "A=1=2", "-w", "/tmp"},
              {"printf '%s'", "", "a b", "$HOME", "new\nline"}),
        environment());
    EXPECT_EQ(boost::json::parse(request_), boost::json::parse(R"({
        "command":"printf '%s'","arguments":["","a b","$HOME","new\nline"],"runAsUser":"sandbox",
        "maxDuration":30000,"async":true,"environment":{"A":"1=2"},"workingDirectory":"/tmp",
        "holdOutput":true})"));
}

TEST_F(Exec, RefusesWhatCannotBeSent) {
    const auto outcome = program::run(words({}, {"cat", "\xFF"}), environment());
    EXPECT_EQ(outcome.code, 125);
    EXPECT_NE(outcome.err.find("argument 1 is not valid UTF-8"), std::string::npos) << outcome.err;
    EXPECT_EQ(exec({"--timeout", "5m"}).code, 125);
    EXPECT_EQ(exec({"--env", "novalue"}).code, 125);
    EXPECT_EQ(exec({"-it"}).code, 125);
    EXPECT_TRUE(daemon_.requests().empty());
}

TEST_F(Exec, WritesBothStreamsByteForByte) {
    std::string bytes;
    for (int i = 0; i < 256; ++i) bytes.push_back(static_cast<char>(i));
    whole(standard(0, bytes) + error_output(0, "oops\n") + standard(256, bytes) +
          end_record(ended(3)));
    const auto outcome = exec();
    EXPECT_EQ(outcome.out, bytes + bytes);
    EXPECT_EQ(outcome.err, "oops\n");
    EXPECT_EQ(outcome.code, 3);
}

TEST_F(Exec, ShowsOutputBeforeTheEnd) {
    std::promise<void> seen;
    output_ = [&](Exchange& exchange) {
        exchange.begin("application/vnd.capsule.output");
        exchange.chunk(standard(0, "first\n"));
        seen.get_future().wait();
        exchange.chunk(end_record(ended(0)));
        exchange.end();
    };
    program::Program mt(words(), environment());
    EXPECT_TRUE(mt.wait_for("first\n"));
    seen.set_value();
    EXPECT_EQ(mt.finish().code, 0);
}

TEST_F(Exec, ReturnsAtTheEndAndNotAtTheEndOfTheStreams) {
    std::promise<void> over;
    // A copy: the daemon's thread may come to it when this function has returned.
    output_ = [until = over.get_future().share()](Exchange& exchange) {
        exchange.begin("application/vnd.capsule.output");
        exchange.chunk(standard(0, "done\n") + end_record(ended(0)));
        until.wait();  // a background child keeps the streams open
    };
    const auto outcome = exec();
    over.set_value();
    EXPECT_EQ(outcome.code, 0);
    EXPECT_EQ(outcome.out, "done\n");
}

TEST_F(Exec, GoesOnAtItsOffsetsAfterALostConnection) {
    output_ = [this](Exchange& exchange) {
        if (followed_ == 1) {
            EXPECT_TRUE(exchange.has_query("outputFrom=0") && exchange.has_query("errorFrom=0"));
            exchange.begin("application/vnd.capsule.output");
            // Breaks off within a record.
            exchange.chunk(standard(0, "hello ") + error_output(0, "e") +
                           standard(6, "wor").substr(0, 18));
        } else {
            EXPECT_TRUE(exchange.has_query("outputFrom=6") && exchange.has_query("errorFrom=1"));
            EXPECT_TRUE(exchange.has_query("lossless=true"));
            exchange.begin("application/vnd.capsule.output");
            // A daemon may begin earlier than asked: nothing comes out twice.
            exchange.chunk(standard(4, "o world\n") + end_record(ended(5)));
            exchange.end();
        }
    };
    const auto outcome = exec();
    EXPECT_EQ(followed_, 2);
    EXPECT_EQ(outcome.out, "hello world\n");
    EXPECT_EQ(outcome.err, "e");
    EXPECT_EQ(outcome.code, 5);
}

TEST_F(Exec, WaitsForADaemonThatIsAway) {
    output_ = [this](Exchange& exchange) {
        exchange.begin("application/vnd.capsule.output");
        if (followed_ == 1) {
            exchange.chunk(standard(0, "before\n"));
        } else {
            exchange.chunk(standard(7, "after\n") + end_record(ended(0)));
            exchange.end();
        }
    };
    program::Program mt(words(), environment());
    EXPECT_TRUE(mt.wait_for("before\n"));
    daemon_.stop();
    daemon_.start();
    const auto outcome = mt.finish();
    EXPECT_EQ(outcome.out, "before\nafter\n");
    EXPECT_EQ(outcome.code, 0);
}

TEST_F(Exec, TakesTheKeptOutputWhenNothingCanBeFollowed) {
    output_ = [this](Exchange& exchange) {
        if (followed_ == 1) {
            exchange.begin("application/vnd.capsule.output");
            exchange.chunk(standard(0, "one\n"));
        } else {
            exchange.problem(409, "command-ended", "the command has ended");
        }
    };
    state_ = command_json("Finished",
                          R"(,"exitCode":0,"outputStandard":"one\ntwo\n","outputError":"e\n")");
    const auto outcome = exec();
    EXPECT_EQ(outcome.out, "one\ntwo\n");
    EXPECT_EQ(outcome.err, "e\n");
    EXPECT_EQ(outcome.code, 0);
}

TEST_F(Exec, NamesAGap) {
    whole(standard(0, "a") +
          encode_output_record(Type::gap, OutputStream::standard, 1,
                               std::string("\0\0\0\0\0\0\0\x09", 8)) +
          standard(9, "b") + end_record(ended(0)));
    const auto outcome = exec();
    EXPECT_EQ(outcome.out, "ab");
    EXPECT_NE(outcome.err.find("8 bytes of standard output were lost"), std::string::npos);
}

TEST_F(Exec, AnAbortedCommandIs125WithItsReason) {
    whole(end_record(
        command_json("Aborted", R"(,"endReason":"capsuleEnded","reason":"the run was stopped")")));
    const auto outcome = exec();
    EXPECT_EQ(outcome.code, 125);
    EXPECT_NE(outcome.err.find("aborted: the run was stopped"), std::string::npos) << outcome.err;
    whole(end_record(command_json("Error", R"(,"endReason":"canceled")")));
    EXPECT_EQ(exec().code, 125);
}

TEST_F(Exec, ARefusalIs125) {
    FakeDaemon refusing(
        [](Exchange& exchange) { exchange.problem(409, "run-ended", "the run has ended"); });
    const auto outcome = program::run(words(), {{"MAITENTO_URL", refusing.url()}});
    EXPECT_EQ(outcome.code, 125);
    EXPECT_EQ(outcome.err, "mt: the run has ended\n");
    EXPECT_EQ(program::run(words(), {{"MAITENTO_URL", "unix:///nonexistent/s"}}).code, 125);
}

TEST_F(Exec, TheFirstCtrlCIsSentOnAndTheSecondDetaches) {
    std::promise<void> over;
    // A copy: the daemon's thread may come to it when this function has returned.
    output_ = [until = over.get_future().share()](Exchange& exchange) {
        exchange.begin("application/vnd.capsule.output");
        exchange.chunk(standard(0, "ready\n"));
        until.wait();
    };
    program::Program mt(words(), environment());
    EXPECT_TRUE(mt.wait_for("ready\n"));
    ::kill(mt.pid(), SIGINT);
    EXPECT_TRUE(daemon_.wait_for_request("/kill"));
    ::kill(mt.pid(), SIGINT);
    const auto outcome = mt.finish();
    over.set_value();
    EXPECT_EQ(outcome.code, 125);
    killed_.wait(0);
    EXPECT_EQ(killed_, SIGINT);
    EXPECT_NE(outcome.err.find("mt commands show r1 c1"), std::string::npos) << outcome.err;
}

TEST_F(Exec, TheCommandDecidesWhatCtrlCMeans) {
    output_ = [this](Exchange& exchange) {
        exchange.begin("application/vnd.capsule.output");
        exchange.chunk(standard(0, "ready\n"));
        EXPECT_TRUE(daemon_.wait_for_request("/kill"));
        exchange.chunk(standard(6, "cleaned up\n") + end_record(ended(130)));
        exchange.end();
    };
    program::Program mt(words(), environment());
    EXPECT_TRUE(mt.wait_for("ready\n"));
    ::kill(mt.pid(), SIGINT);
    const auto outcome = mt.finish();
    EXPECT_EQ(outcome.code, 130);
    EXPECT_EQ(outcome.out, "ready\ncleaned up\n");
}

TEST_F(Exec, TellsTheCommandThatNobodyReadsAnyMore) {
    output_ = [this](Exchange& exchange) {
        exchange.begin("application/vnd.capsule.output");
        exchange.chunk(standard(0, "first\n"));
        EXPECT_TRUE(daemon_.wait_for_request("/input"));  // our sign that the reader is gone
        exchange.chunk(standard(6, "more\n"));
        EXPECT_TRUE(daemon_.wait_for_request("/kill"));
        exchange.chunk(end_record(ended(141)));
        exchange.end();
    };
    program::Program mt(words({"-i"}), environment());
    EXPECT_TRUE(mt.wait_for("first\n"));
    mt.close_output();
    mt.write_input("go");
    mt.close_input();
    EXPECT_EQ(mt.finish().code, 141);
    EXPECT_EQ(killed_, SIGPIPE);
}

TEST_F(Exec, DetachPrintsTheIdAndJsonTheResult) {
    EXPECT_EQ(exec({"--detach"}).out, "c1\n");
    state_ = ended(7);
    const auto outcome = exec({"--json"});
    EXPECT_EQ(outcome.code, 7);
    EXPECT_EQ(boost::json::parse(outcome.out).at("exitCode"), 7);
    EXPECT_EQ(followed_, 0);
}

// ---- standard input -------------------------------------------------------------------------

class ExecInput : public Exec {
  protected:
    ExecInput() {
        output_ = [this](Exchange& exchange) {
            exchange.begin("application/vnd.capsule.output");
            complete_.get_future().wait();
            const std::lock_guard lock(mutex_);
            exchange.chunk(standard(0, received_) + end_record(ended(0)));
            exchange.end();
        };
    }
    // As the agent does: skips what it has, refuses what does not join on.
    void take_input(Exchange& exchange) override {
        const std::lock_guard lock(mutex_);
        const auto at = exchange.target.find("from=") + 5;
        const std::size_t from = std::stoul(exchange.target.substr(at));
        if (from > received_.size()) {
            return exchange.problem(400, "invalid-request", "input is missing before the offset");
        }
        if (received_.size() - from < exchange.body.size()) {
            received_ += exchange.body.substr(received_.size() - from);
        }
        if (drops_ > 0) {
            --drops_;  // the daemon is killed: the answer is lost, and what was in the link
            received_.resize(received_.size() / 2);
            exchange.take_over();
            return;
        }
        EXPECT_TRUE(exchange.has_query("close=true"));
        exchange.answer(204, "");
        complete_.set_value();
    }

    std::mutex mutex_;
    std::string received_;
    int drops_ = 0;
    std::promise<void> complete_;
};

TEST_F(ExecInput, ArrivesByteForByteWithItsEnd) {
    std::string input;
    for (int i = 0; i < 300'000; ++i) input.push_back(static_cast<char>(i * 7));
    const auto outcome = exec({"-i"}, input);
    EXPECT_TRUE(outcome.out == input) << outcome.out.size();
    EXPECT_EQ(boost::json::parse(request_).at("stdin"), "pipe");
}

TEST_F(ExecInput, IsNeitherLostNorDoubledByAKilledDaemon) {
    drops_ = 2;
    EXPECT_EQ(exec({"-i"}, "only once").out, "only once");
}

TEST_F(ExecInput, IsNotReadUnlessAskedFor) {
    whole(end_record(ended(0)));
    EXPECT_EQ(exec({}, "ignored").code, 0);
    for (const std::string& request : daemon_.requests()) {
        EXPECT_EQ(request.find("/input"), std::string::npos);
    }
}

}  // namespace
