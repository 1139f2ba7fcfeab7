// SPDX-License-Identifier: Apache-2.0
#include "cache/cache_ground.hpp"

#include <holdfast/bloom_filter.hpp>

#include <gmock/gmock.h>

namespace holdfast::test {
namespace {

class bloom_test : public cache_test {
protected:
    static std::vector<std::string> items(int from, int to) {
        std::vector<std::string> all;
        for (int i = from; i < to; ++i) all.push_back("item " + std::to_string(i));
        return all;
    }
    static int count(bloom_filter& filter, const std::vector<std::string>& list) {
        const std::vector<std::string_view> views(list.begin(), list.end());
        int found = 0;
        for (std::size_t at = 0; at < views.size(); at += 500) {
            const auto part =
                std::span(views).subspan(at, std::min<std::size_t>(500, views.size() - at));
            const auto seen = filter.contains(part).value();
            for (const bool one : seen) found += one ? 1 : 0;
        }
        return found;
    }
    static void add(bloom_filter& filter, const std::vector<std::string>& list) {
        const std::vector<std::string_view> views(list.begin(), list.end());
        for (std::size_t at = 0; at < views.size(); at += 500) {
            const auto part =
                std::span(views).subspan(at, std::min<std::size_t>(500, views.size() - at));
            ASSERT_TRUE(filter.add(part));
        }
    }
};

INSTANTIATE_TEST_SUITE_P(engines, bloom_test, testing::ValuesIn(cache_engines()), engine_name);

TEST_P(bloom_test, what_was_added_is_always_found_and_little_else) {
    bloom_filter known(where(), "n",
                       {.capacity = 2000, .error_rate = 0.01, .prefix = ground_->prefix()});
    EXPECT_FALSE(known.contains("item 1").value());
    EXPECT_TRUE(known.add("item 1").value());
    EXPECT_FALSE(known.add("item 1").value());
    add(known, items(0, 2000));
    EXPECT_EQ(count(known, items(0, 2000)), 2000);
    EXPECT_LT(count(known, items(10'000, 12'000)), 2000 * 2 / 100);
    EXPECT_EQ(known.info()->filters, 1);
    EXPECT_NEAR(static_cast<double>(known.info()->items), 2000, 40);
    EXPECT_GT(raw("PTTL", ground_->prefix() + "{n}:1:bloom").number(), 0);
    EXPECT_GT(raw("PTTL", ground_->prefix() + "{n}:1:bloom:bits").number(), 0);
}

TEST_P(bloom_test, it_grows_and_keeps_its_error_rate) {
    bloom_filter known(where(), "n",
                       {.capacity = 300, .error_rate = 0.02, .prefix = ground_->prefix()});
    add(known, items(0, 2000));
    EXPECT_EQ(count(known, items(0, 2000)), 2000);
    EXPECT_LT(count(known, items(10'000, 12'000)), 2000 * 4 / 100);
    EXPECT_EQ(known.info()->filters, 3);
}

TEST_P(bloom_test, a_filter_of_other_options_is_refused) {
    bloom_filter one(where(), "n", {.capacity = 300, .prefix = ground_->prefix()});
    ASSERT_TRUE(one.add("a"));
    bloom_filter other(where(), "n", {.capacity = 301, .prefix = ground_->prefix()});
    EXPECT_EQ(other.add("a").error(), errc::invalid_argument);
    bloom_filter wrong(where(), "n", {.error_rate = 0.9, .prefix = ground_->prefix()});
    EXPECT_EQ(wrong.add("a").error(), errc::invalid_argument);
}

TEST_P(bloom_test, a_rebuild_has_no_gap) {
    bloom_filter known(where(), "n", {.capacity = 1000, .prefix = ground_->prefix()});
    add(known, items(0, 100));
    const auto done = known.rebuild([&](const bloom_filter::adder& add_new) -> result<void> {
        const auto list = items(50, 150);
        const std::vector<std::string_view> views(list.begin(), list.end());
        if (auto fed = add_new(views); !fed) return fed;
        EXPECT_EQ(count(known, items(0, 100)), 100);  // the old one, whole
        return {};
    });
    ASSERT_TRUE(done);
    EXPECT_EQ(count(known, items(50, 150)), 100);
    EXPECT_LT(count(known, items(0, 50)), 5);
    EXPECT_EQ(
        known.rebuild([](const auto&) -> result<void> { return fail(errc::denied, "no"); }).error(),
        errc::denied);
    EXPECT_EQ(count(known, items(50, 150)), 100);
    ASSERT_TRUE(known.clear());
    EXPECT_EQ(count(known, items(0, 150)), 0);
}

TEST_P(bloom_test, the_two_hashes_are_these_bits_and_no_others) {
    bloom_filter known(where(), "ids",
                       {.bits = bloom_bits::two_hashes, .prefix = ground_->prefix()});
    EXPECT_TRUE(known.add("a").value());
    EXPECT_TRUE(known.contains("a").value());
    EXPECT_FALSE(known.contains("b").value());
    // FNV-1a of "a" is 0xe40c292c = 3826002220; the other hash is 97.
    const std::string key = ground_->prefix() + "ids";
    EXPECT_EQ(raw("GETBIT", key, 3826002220U % 1'000'000).number(), 1);
    EXPECT_EQ(raw("GETBIT", key, 97).number(), 1);
    EXPECT_EQ(raw("BITCOUNT", key).number(), 2);
    // "foobar": 0xbf9cf968, and ((((('f'*31+'o')*31+'o')*31+'b')*31+'a')*31+'r').
    EXPECT_EQ(detail::two_hashes_of("foobar").first, 0xbf9cf968U % 1'000'000);
    EXPECT_EQ(detail::two_hashes_of("foobar").second, 3026088333U % 1'000'000);
}

}  // namespace
}  // namespace holdfast::test
