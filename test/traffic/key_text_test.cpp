// SPDX-License-Identifier: Apache-2.0
#include "command/key_text.hpp"
#include "core/hash_slot.hpp"
#include "core/own_keys.hpp"

#include <holdfast/entropy.hpp>

#include <gtest/gtest.h>

#include <map>
#include <string>
#include <tuple>
#include <vector>

namespace holdfast::detail {
namespace {

const std::vector<std::string> kinds{std::string(kept::fixed_window),
                                     std::string(kept::sliding_log),
                                     std::string(kept::sliding_counter),
                                     std::string(kept::token_bucket),
                                     std::string(kept::leaky_bucket),
                                     std::string(kept::permits),
                                     std::string(kept::latch)};

/// Texts that are made of what our keys are made of.
class nasty_texts {
public:
    explicit nasty_texts(std::uint64_t seed) : chance_(seed) {}

    std::string text(std::size_t most_parts) {
        static const std::vector<std::string> parts{"{",
                                                    "}",
                                                    ":",
                                                    "{}",
                                                    "}:",
                                                    ":1:",
                                                    "1",
                                                    "5",
                                                    "12",
                                                    "a",
                                                    "day",
                                                    "{a}",
                                                    "limit:",
                                                    "}:1:",
                                                    "latch",
                                                    "permits",
                                                    "fixed_window",
                                                    ":fixed_window",
                                                    ":token_bucket:day",
                                                    "{a}:1:fixed_window:day",
                                                    "{a}:1:permits",
                                                    "holdfast:",
                                                    "fence",
                                                    "once:"};
        std::string made;
        for (std::size_t i = 1 + chance_.below(most_parts); i > 0; --i) {
            made += parts[chance_.below(parts.size())];
        }
        return made;
    }
    std::string kind() { return kinds[chance_.below(kinds.size())]; }
    std::string name() {
        static const std::vector<std::string> names{"",      "day",    "1", "5", "fixed_window",
                                                    "latch", "a.b-c_1"};
        return names[chance_.below(names.size())];
    }
    std::string prefix() { return chance_.below(4) == 0 ? "" : text(4); }

private:
    seeded_entropy chance_;
};

TEST(key_text, is_what_the_format_page_says) {
    EXPECT_EQ(plain_key("msg:processed:", "room7:42").view(), "msg:processed:room7:42");
    EXPECT_EQ(kept_key("limit:", "user/42", kept::token_bucket).view(),
              "limit:{user/42}:7:token_bucket");
    EXPECT_EQ(kept_key("limit:", "user/42", kept::fixed_window, "day").view(),
              "limit:{user/42}:7:fixed_window:day");
}

TEST(key_text, of_two_that_differ_in_anything_is_never_the_same) {
    constexpr int tries = 200'000;
    nasty_texts nasty(21);
    std::map<std::string, std::tuple<std::string, std::string, std::string, std::string>> seen;
    int repeated = 0;
    for (int i = 0; i < tries; ++i) {
        const std::tuple made{nasty.prefix(), nasty.text(4), nasty.kind(), nasty.name()};
        const auto& [prefix, key, kind, name] = made;
        const std::string text(kept_key(prefix, key, kind, name).view());
        ASSERT_TRUE(is_kept_key(text)) << text;
        const auto [at, fresh] = seen.emplace(text, made);
        if (fresh) continue;
        ++repeated;
        ASSERT_EQ(at->second, made) << text;
    }
    EXPECT_GT(repeated, 100) << "the texts are too different to meet";
    for (int i = 0; i < tries; ++i) {
        const std::string prefix = nasty.prefix();
        const std::string key = nasty.text(6);
        const std::string text(plain_key(prefix, key).view());
        if (!check_plain_key(prefix, key)) continue;
        ASSERT_FALSE(seen.contains(text) || is_shared_key(text) || is_side_key(text)) << text;
    }
}

TEST(key_text, that_once_and_cooldown_may_have_is_any_that_is_not_one_of_ours) {
    for (const auto* key : {"room7:42", "{a}:day", "a}:1:day", "{ab}:1:permits", "{a}:1:log",
                            "{a}:01x:latch", "holdfast", "holdfast:fences"}) {
        EXPECT_TRUE(check_plain_key("", key)) << key;
    }
    for (const auto* key : {"x{a}:1:permits", "{a}:1:fixed_window:day", "holdfast:fence",
                            "holdfast:client:0123456789ab", "{12}holdfast:boot", "{lock:a}:line"}) {
        const auto refused = check_plain_key("", key);
        ASSERT_FALSE(refused) << key;
        EXPECT_EQ(refused.error(), errc::invalid_argument);
    }
    EXPECT_FALSE(check_plain_key("holdfast:", "fence"));
}

TEST(key_text, of_all_limits_of_a_key_is_in_one_slot_of_a_cluster) {
    for (const auto* prefix : {"limit:", "", "{app}:", "a{", "a}", "{a"}) {
        for (const auto* key : {"alice", "{alice}", "a}b", "{", "a{b}c", "{}a"}) {
            const auto first = kept_key(prefix, key, kept::fixed_window, "minute");
            const auto second = kept_key(prefix, key, kept::token_bucket, "day");
            EXPECT_EQ(hash_slot(first.view()), hash_slot(second.view())) << prefix << key;
        }
    }
}

TEST(key_text, that_would_be_too_long_is_cut_off_and_nothing_is_overwritten) {
    const std::string long_one(5000, 'x');
    EXPECT_LE(kept_key(long_one, long_one, kept::latch).view().size(), 800U);
    EXPECT_EQ(kept_key(std::string(max_prefix_bytes, 'p'), std::string(max_key_bytes, 'k'),
                       kept::sliding_counter, std::string(max_limit_name_bytes, 'n'))
                  .view()
                  .back(),
              'n');
}

}  // namespace
}  // namespace holdfast::detail
