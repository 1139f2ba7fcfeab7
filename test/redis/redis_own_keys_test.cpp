// SPDX-License-Identifier: Apache-2.0
//
// The keys that Holdfast chooses itself are nobody's name.
#include "support/redis_server.hpp"

#include <holdfast/holdfast.hpp>

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

namespace holdfast {
namespace {

using namespace std::chrono_literals;

TEST(redis_own_keys, no_prefix_makes_a_name_of_the_keys_that_all_share) {
    test::redis_server server;
    auto one = open(server.url()).value();
    auto held = one.mutex("other").acquire(acquire_options{.ttl = 3s}).value();
    const auto counter = server.raw("GET", "holdfast:fence").text();
    const std::vector<std::pair<std::string, std::string>> meet{
        {"holdfast:", "fence"},   {"holdfast:", "boot"},     {"holdfast:", "client:0123456789ab"},
        {"hold", "fast:fence"},   {"{1}", "holdfast:fence"}, {"{lock:", "a}:line"},
        {"{lock:a}:", "holders"}, {"", "{a}:fence"},         {"", "{a}:fence:last"}};
    for (const auto& [prefix, name] : meet) {
        auto strange = open(server.url() + "?prefix=" + prefix).value();
        const auto refused = strange.mutex(name).try_acquire(acquire_options{.ttl = 3s});
        ASSERT_FALSE(refused) << prefix << name;
        EXPECT_EQ(refused.error(), errc::invalid_argument) << prefix << name;
        EXPECT_TRUE(refused.error().detail.contains("a key of Holdfast's own"));
        EXPECT_EQ(strange.evict(name, "test").error(), errc::invalid_argument);
        EXPECT_EQ(strange.inspect(name).error(), errc::invalid_argument);
        EXPECT_EQ(strange.semaphore(name, 1).resize(2).error(), errc::invalid_argument);
    }
    EXPECT_EQ(server.raw("GET", "holdfast:fence").text(), counter);
    auto strange = open(server.url() + "?prefix=holdfast:").value();
    EXPECT_TRUE(strange.mutex("fences").try_acquire(acquire_options{.ttl = 3s}))
        << "only these are refused";
}

}  // namespace
}  // namespace holdfast
