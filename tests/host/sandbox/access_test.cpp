#include "support/world.hpp"

#include <gmock/gmock.h>

namespace host::sandbox {
namespace {

using ::testing::ElementsAre;

class Access : public ::testing::Test, public World {
  protected:
    Access() {
        start_daemon();
        script = programs_succeed;
        define("empty", {});
        EXPECT_TRUE(service->create_namespace(Principal(), "team"));
    }
    Principal key_for(std::vector<std::string> spaces) {
        auto made = service->create_key(Principal(), "test", std::move(spaces));
        EXPECT_TRUE(made);
        return *service->authenticate(made->second);
    }
    Principal inside(const RunId& run) {
        Principal principal;
        principal.name = "run:" + run.str();
        principal.inside = run;
        principal.default_namespace = "default";
        return principal;
    }
};

TEST_F(Access, TheDefaultNamespaceIsAlwaysThere) {
    EXPECT_EQ(service->namespaces(Principal())->front().name, "default");
    EXPECT_EQ(call(service->delete_namespace(Principal(), "default"))->error().code(), "in-use");
}

TEST_F(Access, AKeySeesItsNamespacesOnly) {
    const auto key = key_for({"team"});
    EXPECT_EQ(service->namespaces(key)->size(), 1u);
    EXPECT_EQ(service->capsules(key, "default").error().code(), "forbidden");
    EXPECT_TRUE(service->capsules(key, "team"));
    EXPECT_EQ(service->create_namespace(key, "other").error().code(), "forbidden");
    EXPECT_EQ(service->keys(key).error().code(), "forbidden");
    const RunId id = start("empty");
    EXPECT_EQ(service->run(key, id).error().code(), "not-found");
    EXPECT_TRUE(service->runs(key, {}, {})->items.empty());
    EXPECT_TRUE((*call(service->events(key, 0, {})))->empty());
}

TEST_F(Access, ADeletedKeyIsRefusedAtTheNextRequest) {
    const auto key = key_for({});
    EXPECT_TRUE(service->keys(key));
    ASSERT_TRUE(service->delete_key(Principal(), key.name.substr(4)));
    EXPECT_EQ(service->namespaces(key).error().code(), "unauthenticated");
    EXPECT_EQ(service->authenticate("key1").error().code(), "unauthenticated");
}

TEST_F(Access, InsideARunTheRightsAreItsStarters) {
    const auto key = key_for({"default"});
    const auto run = service->start(key, capsule("empty"), "");
    ASSERT_TRUE(run);
    settle();
    const auto guest = inside(run->id);
    EXPECT_TRUE(service->capsules(guest, "default"));
    EXPECT_EQ(service->capsules(guest, "team").error().code(), "forbidden");
    EXPECT_EQ(service->create_key(guest, "", {}).error().code(), "forbidden");
    // A run from inside a run counts for whoever started the first one.
    const auto child = service->start(guest, capsule("empty"), "");
    ASSERT_TRUE(child) << child.error().describe();
    settle();
    EXPECT_EQ(service->capsules(inside(child->id), "team").error().code(), "forbidden");
    ASSERT_TRUE(service->delete_key(Principal(), key.name.substr(4)));
    EXPECT_EQ(service->capsules(guest, "default").error().code(), "unauthenticated");
}

TEST_F(Access, TheSignInEndsWithTheRun) {
    const RunId id = start("empty");
    settle();
    EXPECT_TRUE(service->namespaces(inside(id)));
    call(service->terminate(Principal(), id));
    EXPECT_EQ(service->namespaces(inside(id)).error().code(), "unauthenticated");
}

TEST_F(Access, LiveChildRunsAreLimited) {
    const RunId id = start("empty");
    settle();
    const auto guest = inside(id);
    std::vector<RunId> children;
    for (std::uint32_t i = 0; i < model::defaults::child_runs; ++i) {
        auto child = service->start(guest, capsule("empty"), "");
        ASSERT_TRUE(child);
        children.push_back(child->id);
    }
    EXPECT_EQ(service->start(guest, capsule("empty"), "").error().code(), "no-room");
    settle();
    call(service->terminate(guest, children.front()));
    EXPECT_TRUE(service->start(guest, capsule("empty"), ""));
}

TEST_F(Access, ANamespaceGoesOnlyWhenEmptyAndIdle) {
    auto name = capsule("data");
    name.space = "team";
    ASSERT_TRUE(*call(service->create_vfs(Principal(), name)));
    EXPECT_EQ(call(service->delete_namespace(Principal(), "team"))->error().code(), "not-empty");
    ASSERT_TRUE(*call(service->delete_vfs(Principal(), name)));
    EXPECT_TRUE(vfs_folders.empty());
    EXPECT_TRUE(*call(service->delete_namespace(Principal(), "team")));
    EXPECT_EQ(service->capsules(Principal(), "team").error().code(), "not-found");
}

TEST_F(Access, AMountedFileSystemStays) {
    const auto name = capsule("data");
    ASSERT_TRUE(*call(service->create_vfs(Principal(), name)));
    model::Definition definition;
    model::VfsMount mount;
    mount.vfs = name;
    mount.mount_name = "data";
    definition.vfs.push_back(mount);
    define("mounting", definition);
    const RunId id = start("mounting");
    settle();
    EXPECT_EQ(call(service->delete_vfs(Principal(), name))->error().code(), "in-use");
    call(service->terminate(Principal(), id));
    EXPECT_TRUE(*call(service->delete_vfs(Principal(), name)));
}

TEST_F(Access, NamesAreChecked) {
    for (const char* bad : {"", "../x", "A", "-a", "a.b"}) {
        EXPECT_EQ(service->create_namespace(Principal(), bad).error().code(), "invalid-name")
            << bad;
        EXPECT_EQ(call(service->create_vfs(Principal(), capsule(bad)))->error().code(),
                  "invalid-name");
    }
}

TEST_F(Access, SecretValuesAreNotGivenBack) {
    const auto set = service->set_secret(Principal(), capsule("token"), "value");
    ASSERT_TRUE(set);
    EXPECT_EQ(set->sealed, "");
    EXPECT_EQ(service->secrets(Principal(), "default")->front().sealed, "");
    EXPECT_EQ(
        service->set_secret(Principal(), capsule("big"), std::string(65'537, 'x')).error().code(),
        "too-large");
}

}  // namespace
}  // namespace host::sandbox
