// SPDX-License-Identifier: Apache-2.0
//
// The copy in the process follows what anybody does to the server, not only other caches.
#include "support/redis_server.hpp"
#include "support/wait_for.hpp"

#include <holdfast/cache.hpp>
#include <holdfast/redis/redis.hpp>

#include <gtest/gtest.h>

namespace holdfast::test {
namespace {

using namespace std::chrono_literals;

/// A cache whose copies last: only the server can make it forget.
class tracked_cache {
public:
    explicit tracked_cache(const std::string& url)
        : engine_(open_redis(url).value()),
          near_(command_access(engine_),
                {.prefix = "t:", .timeout = 10s, .local_bytes = 1 << 20, .local_life = 1h}) {}

    int get(std::string_view key = "a") {
        return near_.get(key, [&] { return source; }).value().value();
    }
    /// Reads until the process itself answers.
    void copy(std::string_view key = "a") {
        const auto before = near_.statistics().local_hits;
        wait_for("a copy that answers", [&] {
            static_cast<void>(get(key));
            return near_.statistics().local_hits > before;
        });
    }
    [[nodiscard]] cache_statistics statistics() const { return near_.statistics(); }

    int source = 1;

private:
    std::shared_ptr<command_engine> engine_;
    cache<int> near_;
};

TEST(cache_tracking, a_plain_command_of_any_client_drops_the_copy) {
    redis_server server;
    tracked_cache cached(server.url());
    cached.copy("a");
    cached.copy("other");
    EXPECT_TRUE(cached.statistics().local_tracked);
    cached.source = 2;
    EXPECT_EQ(cached.get("a"), 1);
    ASSERT_EQ(server.raw("DEL", "t:a").number(), 1);
    wait_for("the new value", [&] { return cached.get("a") == 2; });
    EXPECT_EQ(cached.get("other"), 1);
    cached.copy("a");
    // Whatever is there now is not ours to answer from memory.
    ASSERT_FALSE(server.raw("SET", "t:other", server.raw("GET", "t:a").text()).is_error());
    wait_for("what was set", [&] { return cached.get("other") == 2; });
}

TEST(cache_tracking, copies_go_with_an_expiry_and_with_everything) {
    redis_server server;
    tracked_cache cached(server.url());
    cached.copy("a");
    cached.copy("b");
    cached.source = 2;
    ASSERT_EQ(server.raw("PEXPIRE", "t:a", 1).number(), 1);
    wait_for("the new value", [&] { return cached.get("a") == 2; });
    cached.source = 3;
    ASSERT_FALSE(server.raw("FLUSHALL").is_error());
    wait_for("the new value", [&] { return cached.get("b") == 3; });
}

TEST(cache_tracking, copies_go_when_the_server_cannot_be_heard_and_come_back) {
    redis_server server;
    tracked_cache cached(server.url());
    // The message of its own store may come late, and drop the first copy.
    wait_for("a copy", [&] {
        static_cast<void>(cached.get());
        return cached.statistics().local_entries == 1;
    });
    server.raw("CLIENT", "KILL", "TYPE", "pubsub");
    wait_for("the copies to go", [&] { return cached.statistics().local_entries == 0; });
    cached.copy();
    cached.source = 2;
    server.raw("DEL", "t:a");
    wait_for("the new value", [&] { return cached.get() == 2; });
}

TEST(cache_tracking, a_user_that_may_not_track_has_copies_that_caches_drop) {
    redis_server server({.acl = {"user app on >secret ~* &* +@all -client|tracking"}});
    const std::string url = "redis://app:secret@127.0.0.1:" + std::to_string(server.port());
    tracked_cache cached(url);
    cached.copy();
    EXPECT_FALSE(cached.statistics().local_tracked);
    cached.source = 2;
    const std::shared_ptr<command_engine> engine = open_redis(url).value();
    cache<int> other(command_access(engine), {.prefix = "t:"});
    ASSERT_TRUE(other.invalidate("a"));
    wait_for("the new value", [&] { return cached.get() == 2; });
}

}  // namespace
}  // namespace holdfast::test
