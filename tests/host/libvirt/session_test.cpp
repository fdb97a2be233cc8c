#include "host/libvirt/session.hpp"

#include "host/libvirt/connection.hpp"

#include <condition_variable>
#include <mutex>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace host::libvirt {
namespace {

using namespace std::chrono_literals;
using News = std::pair<std::string, DomainNews>;

// Collects what the event thread says.
class Inbox {
  public:
    void put(News news) {
        const std::lock_guard lock(mutex_);
        news_.push_back(std::move(news));
        arrived_.notify_all();
    }
    std::vector<News> wait_for(std::size_t count) {
        std::unique_lock lock(mutex_);
        arrived_.wait_for(lock, 10s, [&] { return news_.size() >= count; });
        return news_;
    }

  private:
    std::mutex mutex_;
    std::condition_variable arrived_;
    std::vector<News> news_;
};

std::shared_ptr<Session> open_test_driver(Inbox& inbox) {
    SessionCallbacks callbacks;
    callbacks.news = [&inbox](std::string name, DomainNews news) {
        inbox.put({std::move(name), news});
    };
    callbacks.closed = [] {};
    auto session = Session::open("test:///default", std::move(callbacks));
    return session ? *session : nullptr;
}

DomainHandle create(Session& session, const std::string& name) {
    const std::string xml = "<domain type='test'><name>" + name +
                            "</name><memory>65536</memory><os><type>hvm</type></os></domain>";
    return DomainHandle(virDomainCreateXML(session.get(), xml.c_str(), 0));
}

TEST(Session, TellsTheEndOfACapsuleOnly) {
    Inbox inbox;
    const auto session = open_test_driver(inbox);
    ASSERT_TRUE(session);
    const auto stranger = create(*session, "other");
    const auto capsule = create(*session, "capsule-a");
    ASSERT_TRUE(stranger && capsule);
    virDomainDestroy(stranger.get());
    virDomainDestroy(capsule.get());
    EXPECT_THAT(inbox.wait_for(1),
                ::testing::ElementsAre(News("capsule-a", DomainNews::destroyed)));
}

TEST(Session, TellsShutDownApartFromDestroyed) {
    Inbox inbox;
    const auto session = open_test_driver(inbox);
    ASSERT_TRUE(session);
    const auto capsule = create(*session, "capsule-b");
    ASSERT_TRUE(capsule);
    virDomainShutdown(capsule.get());
    EXPECT_THAT(inbox.wait_for(1),
                ::testing::ElementsAre(News("capsule-b", DomainNews::shut_down)));
}

TEST(Session, TellsThatACapsuleIsPausedAndGoesOn) {
    Inbox inbox;
    const auto session = open_test_driver(inbox);
    ASSERT_TRUE(session);
    const auto capsule = create(*session, "capsule-c");
    ASSERT_TRUE(capsule);
    virDomainSuspend(capsule.get());
    virDomainResume(capsule.get());
    EXPECT_THAT(inbox.wait_for(2), ::testing::ElementsAre(News("capsule-c", DomainNews::paused),
                                                          News("capsule-c", DomainNews::resumed)));
}

TEST(Session, CanBeOpenedAgainAfterTheLastOneWent) {
    Inbox inbox;
    for (int i = 0; i < 3; ++i) EXPECT_TRUE(open_test_driver(inbox));
}

TEST(Connect, IsUnavailableWhereNobodyAnswers) {
    const auto connected = connect("qemu+unix:///system?socket=/nonexistent/socket",
                                   protocol::InstallationId::random());
    ASSERT_FALSE(connected);
    EXPECT_EQ(connected.error().kind(), protocol::Kind::unavailable);
}

}  // namespace
}  // namespace host::libvirt
