// SPDX-License-Identifier: Apache-2.0
//
// Values as bytes: every value comes back as it was, and bytes that are no value are refused.
#include "driver/memory/key_image.hpp"
#include "driver/memory/memory_engine.hpp"

#include <holdfast/entropy.hpp>
#include <holdfast/virtual_clock.hpp>

#include <gtest/gtest.h>

#include <array>
#include <limits>

namespace holdfast::memory {
namespace {

using namespace std::chrono_literals;

class images : public testing::Test {
protected:
    std::string text() {
        std::string made(chance.below(chance.below(8) == 0 ? 300 : 12), '\0');
        chance.fill(std::as_writable_bytes(std::span(made)));
        return made;
    }
    double score() {
        constexpr std::array<double, 6> odd{0.0,
                                            -0.0,
                                            std::numeric_limits<double>::infinity(),
                                            -std::numeric_limits<double>::infinity(),
                                            std::numeric_limits<double>::denorm_min(),
                                            1e308};
        if (chance.below(4) == 0) return odd[chance.below(odd.size())];
        return static_cast<double>(chance.below(1000)) / 7 - 50;
    }
    std::unique_ptr<stream> any_stream(std::size_t size) {
        auto made = std::make_unique<stream>();
        for (std::size_t i = 1; i <= size; ++i)
            made->append({i, chance.below(9)}, {text(), text()});
        if (chance.below(2) == 0) made->erase(made->first_id());
        if (chance.below(4) == 0) made->set_last(last_stream_id);
        for (std::size_t i = chance.below(3); i > 0; --i) {
            stream::group& g = made->groups()[text()];
            g.last = made->last_id();
            if (chance.below(2) == 0) g.entries_read = static_cast<std::int64_t>(size);
            for (std::size_t n = chance.below(4); n > 0; --n) {
                const std::string name = text();
                g.join(name, 1'600'000'000'000);
                g.deliver({n, 0}, name, 1'600'000'000'001);
            }
        }
        return made;
    }
    value any_value() {
        const std::size_t size = 1 + chance.below(20);
        switch (chance.below(6)) {
            case 0: return text();
            case 1: {
                auto made = std::make_unique<hash_value>(1);
                for (std::size_t i = 0; i < size; ++i)
                    made->find_or_insert(text()).first->value = text();
                return made;
            }
            case 2: {
                auto made = std::make_unique<list_value>();
                for (std::size_t i = 0; i < size; ++i) made->push_back(text());
                return made;
            }
            case 3: {
                auto made = std::make_unique<set_value>(1);
                for (std::size_t i = 0; i < size; ++i) made->find_or_insert(text());
                return made;
            }
            case 4: return any_stream(size);
            default: {
                auto made = std::make_unique<sorted_set>(1);
                for (std::size_t i = 0; i < size; ++i) {
                    const std::string member = text();
                    if (made->find(member) == nullptr) made->insert(member, score());
                }
                return made;
            }
        }
    }
    seeded_entropy chance{20261116};
};

TEST_F(images, bring_every_value_back_as_it_was) {
    for (int i = 0; i < 5000; ++i) {
        const value before = any_value();
        const std::string bytes = to_bytes(before);
        const auto after = from_bytes(bytes, 2);
        ASSERT_TRUE(after) << i;
        EXPECT_EQ(after->index(), before.index());
        ASSERT_EQ(to_bytes(*after), bytes) << i;
    }
}

TEST_F(images, that_were_damaged_are_refused_or_are_another_whole_value) {
    int refused = 0;
    for (int i = 0; i < 20000; ++i) {
        std::string bytes = to_bytes(any_value());
        if (chance.below(2) == 0) {
            bytes.resize(chance.below(bytes.size()));
        } else {
            bytes[chance.below(bytes.size())] = static_cast<char>(chance.below(256));
        }
        const auto after = from_bytes(bytes, 2);
        if (!after) {
            ++refused;
            continue;
        }
        const auto again = from_bytes(to_bytes(*after), 3);
        ASSERT_TRUE(again) << i;
        EXPECT_EQ(to_bytes(*again), to_bytes(*after));
    }
    EXPECT_GT(refused, 1000);
}

TEST_F(images, carry_a_key_with_its_expiry_from_one_engine_to_another) {
    virtual_clock time;
    const auto from = make_memory_engine({.time = &time});
    const auto to = make_memory_engine({.time = &time});
    const auto give_up = time.now() + 1h;
    ASSERT_TRUE(from->execute(words("ZADD", "k", "2", "b", "1", "a"), give_up));
    ASSERT_TRUE(from->execute(words("PEXPIRE", "k", 5000), give_up));
    const auto image = from->image("k");
    ASSERT_TRUE(image);
    ASSERT_TRUE(to->place("k", *image));
    EXPECT_EQ(to->image("k"), image);
    EXPECT_EQ(to->key_names(), std::vector<std::string>{"k"});
    EXPECT_EQ(to->execute(words("ZRANK", "k", "b"), give_up)->number(), 1);
    EXPECT_EQ(to->execute(words("PTTL", "k"), give_up)->number(), 5000);
    time.advance(5001ms);
    EXPECT_FALSE(to->image("k"));
    EXPECT_FALSE(to->place("k", {"no image", -1}));
    to->clear();
    EXPECT_TRUE(to->key_names().empty());
}

}  // namespace
}  // namespace holdfast::memory
