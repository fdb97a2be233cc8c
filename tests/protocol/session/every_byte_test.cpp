// The link is dropped at every byte of a conversation: three commands are started, followed and
// forgotten. Whatever the byte, nothing is lost, nothing arrives twice, every command runs once and
// has one result.

#include "tests/protocol/support/scripted_client.hpp"
#include "tests/protocol/support/scripted_commands.hpp"

#include <memory>
#include <random>

#include <gtest/gtest.h>

namespace protocol {
namespace {

using test::ScriptedClient;
using test::ScriptedCommands;
using test::Step;

const std::map<std::string, test::Script> scripts = {
    {"report",
     {{Step::What::output, "first line\n"},
      {Step::What::error, "warning\n"},
      {Step::What::output, "caf\xC3"},  // a character in two reads
      {Step::What::output, "\xA9\n"},
      {Step::What::exit, "", 0},
      {Step::What::output, "late, from a background child\n"},
      {Step::What::close, ""}}},
    {"fail",
     {{Step::What::error, std::string("bad \xFF\0byte", 10)},
      {Step::What::exit, "", 3},
      {Step::What::close, ""}}},
    {"silent", {{Step::What::exit, "", 0}, {Step::What::close, ""}}},
};

std::string expected(const std::string& shell, Step::What what) {
    std::string bytes;
    for (const Step& step : scripts.at(shell)) {
        if (step.what == what) bytes += step.bytes;
    }
    return bytes;
}

// How a guest's transport takes the loss.
enum class Loss {
    new_transport,  // vsock: a connection closes, another is accepted; a new guest session
    port_hangs_up,  // virtio-serial port: the same session hears of it by a read of 0
};

class Conversation {
  public:
    Conversation(Loss loss, unsigned seed) : loss_(loss), random_(seed), guest_service_(scripts) {
        client_.add("a", "report");
        client_.add("b", "fail");
        client_.add("c", "silent");
        guest_ = std::make_unique<Session>(Role::guest, "{}", Nonce{}, now_);
        connect();
    }

    // Until done, dropping the link when `first` bytes have passed, and again after `second` more.
    // Returns how many bytes passed.
    std::size_t run(std::size_t first, std::size_t second) {
        std::vector<std::size_t> cuts = {second, first};
        std::size_t passed = 0, since_cut = 0;
        for (int round = 0; !client_.is_done(); ++round) {
            if (round > 100'000) {
                ADD_FAILURE() << "no end in sight";
                return passed;
            }
            const std::size_t left = cuts.empty() ? SIZE_MAX : cuts.back() - since_cut;
            const bool to_guest = random_() % 2 == 0;
            const std::size_t moved =
                to_guest ? carry(*host_, *guest_, left) : carry(*guest_, *host_, left);
            passed += moved;
            since_cut += moved;
            if (!cuts.empty() && since_cut == cuts.back()) {
                drop();
                cuts.pop_back();
                since_cut = 0;
            }
            drain();
            if (random_() % 4 == 0) guest_service_.advance(*guest_);
        }
        return passed;
    }

    void check() const {
        for (const auto& [id, command] : client_.commands()) {
            EXPECT_EQ(command.output, expected(command.shell, Step::What::output)) << id;
            EXPECT_EQ(command.error, expected(command.shell, Step::What::error)) << id;
            EXPECT_EQ(command.results, 1) << id;
            EXPECT_EQ(guest_service_.executions(id), 1) << id;
            ASSERT_TRUE(command.result) << id;
            EXPECT_EQ(command.result->code, command.shell == "fail" ? 3 : 0) << id;
            EXPECT_EQ(command.result->output.bytes, command.output.size()) << id;
            EXPECT_FALSE(command.result->output_open) << id;
        }
        EXPECT_EQ(client_.commands().at("a").result->output.window,
                  expected("report", Step::What::output));
        EXPECT_EQ(client_.commands().at("b").result->error.window,
                  std::string("bad \xEF\xBF\xBD\0byte", 12));
        EXPECT_EQ(guest_service_.commands_kept(), 0u);
    }

  private:
    std::size_t carry(Session& from, Session& to, std::size_t limit) {
        const std::size_t piece = std::min<std::size_t>(1 + random_() % 40, limit);
        const std::string bytes(from.output().substr(0, piece));
        from.written(bytes.size());
        const auto fed = to.feed(bytes, now_);
        EXPECT_TRUE(fed) << fed.error().describe();
        return bytes.size();
    }

    void drain() {
        while (auto event = guest_->next_event()) guest_service_.handle(*guest_, *event);
        while (auto event = host_->next_event()) client_.handle(*host_, *event);
    }

    // What was sent and not yet read is lost on both sides; events not yet handled with it.
    void drop() {
        if (loss_ == Loss::new_transport) {
            guest_ = std::make_unique<Session>(Role::guest, "{}", Nonce{}, now_);
        } else {
            guest_->interrupted();
        }
        connect();
    }

    void connect() {
        ++connections_;
        host_ = std::make_unique<Session>(Role::host, "{}", Nonce{connections_}, now_);
    }

    const Loss loss_;
    const TimePoint now_{};
    std::mt19937 random_;
    unsigned char connections_ = 0;
    ScriptedCommands guest_service_;
    ScriptedClient client_;
    std::unique_ptr<Session> host_, guest_;
};

class EveryByte : public testing::TestWithParam<Loss> {};

TEST_P(EveryByte, NothingIsLostAndNothingDoubled) {
    const unsigned seed = 42;
    const std::size_t whole = Conversation(GetParam(), seed).run(SIZE_MAX, SIZE_MAX);
    ASSERT_GT(whole, 2'000u);
    for (std::size_t cut = 1; cut <= whole; ++cut) {
        Conversation conversation(GetParam(), seed);
        // The second loss wanders from inside the handshake to far into the conversation.
        conversation.run(cut, 1 + (cut * 37) % whole);
        conversation.check();
        ASSERT_FALSE(HasFailure()) << "the link was dropped after byte " << cut;
    }
}

INSTANTIATE_TEST_SUITE_P(Loss, EveryByte, testing::Values(Loss::new_transport, Loss::port_hangs_up),
                         [](const auto& test) {
                             return test.param == Loss::new_transport ? "NewTransport"
                                                                      : "PortHangsUp";
                         });

}  // namespace
}  // namespace protocol
