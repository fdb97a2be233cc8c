// Condition, the system's clock, workers and the watch on a process.

#include "host/sandbox/condition.hpp"
#include "host/sandbox/process_watch.hpp"
#include "host/sandbox/spawn.hpp"
#include "host/sandbox/workers.hpp"
#include "support/manual_clock.hpp"

#include <sys/wait.h>
#include <thread>
#include <unistd.h>

#include <boost/asio/io_context.hpp>
#include <boost/asio/thread_pool.hpp>
#include <gtest/gtest.h>

namespace host::sandbox {
namespace {

namespace asio = boost::asio;

asio::awaitable<void> count_after_wait(Condition& condition, int& count) {
    co_await condition.wait();
    ++count;
}

asio::awaitable<void> count_after_limit(Condition& condition, Clock& clock, std::int64_t at,
                                        int& count) {
    co_await condition.wait_until(clock, at);
    ++count;
}

TEST(Condition, WakesEveryWaiterOnce) {
    asio::io_context loop;
    Condition condition(loop.get_executor());
    int count = 0;
    for (int i = 0; i < 3; ++i)
        spawn(loop.get_executor(), "test", count_after_wait(condition, count));
    loop.poll();
    EXPECT_EQ(condition.waiting(), 3u);
    condition.wake_all();
    loop.restart();
    loop.poll();
    EXPECT_EQ(count, 3);
    EXPECT_EQ(condition.waiting(), 0u);
}

TEST(Condition, GivesUpAtItsLimit) {
    asio::io_context loop;
    ManualClock clock;
    Condition condition(loop.get_executor());
    int count = 0;
    const auto at = clock.boottime_ms() + 10;
    spawn(loop.get_executor(), "test", count_after_limit(condition, clock, at, count));
    loop.poll();
    EXPECT_FALSE(clock.ring_next(at - 1));
    EXPECT_TRUE(clock.ring_next(at));
    loop.restart();
    loop.poll();
    EXPECT_EQ(count, 1);
    EXPECT_EQ(condition.waiting(), 0u);
    EXPECT_EQ(clock.alarms(), 0u);
}

TEST(SystemClock, RingsInOrderAndNotWhatWasCancelled) {
    asio::io_context loop;
    auto clock = make_system_clock(loop.get_executor());
    ASSERT_TRUE(clock);
    EXPECT_EQ((*clock)->host_boot_id().size(), 36u);
    std::string rung;
    const auto now = (*clock)->boottime_ms();
    auto late = (*clock)->alarm_at(now + 20, [&] {
        rung += "b";
        loop.stop();
    });
    auto early = (*clock)->alarm_at(now + 10, [&] { rung += "a"; });
    auto cancelled = (*clock)->alarm_at(now + 15, [&] { rung += "x"; });
    cancelled.reset();
    loop.run_for(std::chrono::seconds(10));
    EXPECT_EQ(rung, "ab");
}

TEST(SystemClock, AnAlarmMayReplaceItself) {
    asio::io_context loop;
    auto clock = make_system_clock(loop.get_executor());
    ASSERT_TRUE(clock);
    int rung = 0;
    std::unique_ptr<Alarm> alarm;
    std::function<void()> again = [&] {
        if (++rung == 3) return loop.stop();
        alarm = (*clock)->alarm_in(std::chrono::milliseconds(1), again);
    };
    alarm = (*clock)->alarm_at(0, again);  // long past
    loop.run_for(std::chrono::seconds(10));
    EXPECT_EQ(rung, 3);
}

asio::awaitable<void> ask(Workers& workers, std::thread::id& where, std::string& answer) {
    auto work = [&where] {
        where = std::this_thread::get_id();
        return std::string("answer");
    };
    answer = co_await on_workers(workers, std::move(work));
}

TEST(Workers, AnswerOnTheLoop) {
    asio::io_context loop;
    asio::thread_pool pool(1);
    const auto workers = make_workers(pool);
    std::thread::id where;
    std::string answer;
    spawn(loop.get_executor(), "test", ask(*workers, where, answer));
    loop.run_for(std::chrono::seconds(10));
    EXPECT_EQ(answer, "answer");
    EXPECT_NE(where, std::this_thread::get_id());
    pool.join();
}

TEST(ProcessWatch, HearsOfADeath) {
    asio::io_context loop;
    int pipe_ends[2];
    ASSERT_EQ(::pipe(pipe_ends), 0);
    const pid_t child = ::fork();
    if (child == 0) {
        // Lives until the test closes its end.
        char byte = 0;
        ::close(pipe_ends[1]);
        ::_exit(static_cast<int>(::read(pipe_ends[0], &byte, 1)));
    }
    ::close(pipe_ends[0]);
    bool died = false;
    auto watch = watch_process(loop.get_executor(), child, [&] {
        died = true;
        loop.stop();
    });
    loop.poll();
    EXPECT_FALSE(died);
    ::close(pipe_ends[1]);
    loop.restart();
    loop.run_for(std::chrono::seconds(10));
    EXPECT_TRUE(died);
    ::waitpid(child, nullptr, 0);
    // Nobody has this pid now.
    died = false;
    auto late = watch_process(loop.get_executor(), child, [&] { died = true; });
    loop.restart();
    loop.poll();
    EXPECT_TRUE(died);
}

}  // namespace
}  // namespace host::sandbox
