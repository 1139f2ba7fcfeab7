// SPDX-License-Identifier: Apache-2.0
#include "engine_fixture.hpp"

#include "driver/memory/dict.hpp"
#include "driver/memory/glob.hpp"
#include "driver/memory/numbers.hpp"
#include "driver/memory/sorted_set.hpp"

#include <map>
#include <set>

namespace holdfast::memory_test {
namespace {

using namespace holdfast::memory;

TEST(dict_scan, meets_every_key_that_stays_while_the_table_grows_and_shrinks) {
    seeded_entropy chance(7);
    for (int round = 0; round < 200; ++round) {
        dict<int> table(chance.below(UINT64_MAX));
        for (int i = 0; i < 100; ++i) table.insert("stays" + std::to_string(i), i);
        std::set<std::string> met;
        std::uint64_t cursor = 0;
        int extra = 0;
        do {
            cursor = table.scan(cursor, 3, [&](const auto& n) { met.insert(n.key); });
            const bool grow = chance.below(2) == 0;
            for (std::uint64_t i = chance.below(300); i > 0 && grow; --i) {
                table.insert("extra" + std::to_string(extra++), 0);
            }
            for (int i = 0; i < extra && !grow; ++i) {
                if (auto* n = table.find("extra" + std::to_string(i))) table.erase(*n);
            }
        } while (cursor != 0);
        for (int i = 0; i < 100; ++i) {
            ASSERT_TRUE(met.contains("stays" + std::to_string(i))) << "round " << round;
        }
    }
}

TEST(dict, keeps_the_order_of_insertion_through_erasures) {
    dict<int> table(1);
    for (int i = 0; i < 50; ++i) table.insert(std::to_string(i), i);
    for (int i = 0; i < 50; i += 2) table.erase(*table.find(std::to_string(i)));
    int expected = 1;
    for (const auto* n = table.first(); n != nullptr; n = n->after, expected += 2) {
        EXPECT_EQ(n->value, expected);
    }
    EXPECT_EQ(table.size(), 25U);
}

TEST(sorted_set_ranks, agree_with_a_plain_sorted_map) {
    seeded_entropy chance(3);
    sorted_set set(5);
    std::map<std::string, double> plain;
    for (int i = 0; i < 3000; ++i) {
        const std::string member = "m" + std::to_string(chance.below(300));
        const auto score = static_cast<double>(chance.below(50));
        auto* e = set.find(member);
        if (chance.below(4) == 0 && e != nullptr) {
            set.erase(*e);
            plain.erase(member);
        } else if (e != nullptr) {
            set.set_score(*e, score);
            plain[member] = score;
        } else {
            set.insert(member, score);
            plain[member] = score;
        }
    }
    std::set<std::pair<double, std::string>> order;
    for (const auto& [member, score] : plain) order.emplace(score, member);
    ASSERT_EQ(set.size(), order.size());
    std::size_t rank = 0;
    for (const auto& [score, member] : order) {
        EXPECT_EQ(set.rank(*set.find(member)), rank);
        EXPECT_EQ(set.at(rank).key, member);
        ++rank;
    }
}

TEST(glob, matches_as_redis_does) {
    EXPECT_TRUE(glob_match("h?llo", "hello"));
    EXPECT_TRUE(glob_match("h[a-e]llo", "hello"));
    EXPECT_FALSE(glob_match("h[^e]llo", "hello"));
    EXPECT_TRUE(glob_match("a*b*c", "aXXbYYbZZc"));
    EXPECT_FALSE(glob_match("a*b*c", "aXXbYY"));
    EXPECT_TRUE(glob_match("\\*", "*"));
    EXPECT_TRUE(glob_match("**", "x"));
    EXPECT_TRUE(glob_match("x**", "x"));
    EXPECT_FALSE(glob_match("**", ""));
    EXPECT_FALSE(glob_match("", "x"));
}

TEST(glob, is_not_slow_on_many_stars) {
    const std::string text(5000, 'a');
    std::string pattern;
    for (int i = 0; i < 50; ++i) pattern += "a*";
    EXPECT_FALSE(glob_match(pattern + "b", text));
}

TEST(numbers, are_read_strictly) {
    EXPECT_EQ(parse_integer("-9223372036854775808"), INT64_MIN);
    for (const char* text : {"", "-", "+1", "01", "-0", " 1", "1 ", "1.0", "9223372036854775808"}) {
        EXPECT_FALSE(parse_integer(text)) << text;
    }
    for (const char* text : {"", " 1", "1x", "nan", "1e999"})
        EXPECT_FALSE(parse_double(text)) << text;
}

class scanning : public engine_test {};

TEST_F(scanning, a_walk_over_the_keys_meets_each_of_them) {
    for (int i = 0; i < 1000; ++i) ask("SET", "k" + std::to_string(i), "v");
    ask("HSET", "other", "f", "v");
    std::set<std::string> met;
    std::string cursor = "0";
    do {
        const reply r = ask("SCAN", cursor, "MATCH", "k*", "COUNT", "7", "TYPE", "string");
        cursor = r.elements()[0].text();
        for (const reply& key : r.elements()[1].elements()) met.insert(key.text());
    } while (cursor != "0");
    EXPECT_EQ(met.size(), 1000U);
}

}  // namespace
}  // namespace holdfast::memory_test
