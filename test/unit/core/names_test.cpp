// SPDX-License-Identifier: Apache-2.0
#include <holdfast/names.hpp>

#include <gmock/gmock.h>

#include <set>

namespace holdfast {
namespace {

using testing::HasSubstr;

TEST(fit_reason, takes_text_of_one_to_200_bytes) {
    EXPECT_TRUE(fit_reason("a"));
    EXPECT_TRUE(fit_reason(std::string(200, 'x')));
    EXPECT_THAT(fit_reason("").error().detail, HasSubstr("reason is empty"));
    EXPECT_THAT(fit_reason(std::string(201, 'x')).error().detail, HasSubstr("201 bytes"));
    EXPECT_THAT(fit_reason("a\nb").error().detail, HasSubstr("0x0a at byte 1"));
    EXPECT_THAT(fit_reason("a\xff").error().detail, HasSubstr("not UTF-8"));
}

TEST(lock_name, takes_text_of_one_to_512_bytes) {
    EXPECT_EQ(lock_name::make("a")->value(), "a");
    EXPECT_TRUE(lock_name::make(std::string(512, 'x')));
    EXPECT_TRUE(lock_name::make("直播间/42 – “room”"));
    EXPECT_TRUE(lock_name::make("braces {a}{} }{ are fine"));
}

TEST(lock_name, says_what_is_wrong_with_the_others) {
    EXPECT_THAT(lock_name::make("").error().detail, HasSubstr("empty"));
    EXPECT_THAT(lock_name::make(std::string(513, 'x')).error().detail, HasSubstr("513 bytes"));
    EXPECT_THAT(lock_name::make("a\nb").error().detail, HasSubstr("0x0a at byte 1"));
    EXPECT_THAT(lock_name::make(std::string_view("a\0b", 3)).error().detail, HasSubstr("0x00"));
    for (const auto* bad : {"\x80", "\xC0\x80", "\xED\xA0\x80", "\xF5\x80\x80\x80", "a\xE2\x82"}) {
        const auto made = lock_name::make(bad);
        ASSERT_FALSE(made) << bad;
        EXPECT_EQ(made.error(), errc::invalid_argument);
        EXPECT_THAT(made.error().detail, HasSubstr("UTF-8"));
    }
}

TEST(owner_token, is_128_bits_that_do_not_repeat) {
    seeded_entropy chance(1);
    std::set<std::string> seen;
    for (int i = 0; i < 1000; ++i) {
        const auto owner = owner_token::draw(chance);
        EXPECT_EQ(owner.value().size(), 32U);
        EXPECT_TRUE(seen.emplace(owner.value()).second);
        EXPECT_EQ(owner_token::parse(owner.value()), owner);
    }
}

TEST(owner_token, from_a_wire_is_checked) {
    EXPECT_EQ(owner_token::parse("short").error(), errc::corrupt);
    EXPECT_EQ(owner_token::parse(std::string(32, 'G')).error(), errc::corrupt);
}

TEST(fencing_token, orders_by_its_number) {
    EXPECT_LT(fencing_token{9}, fencing_token{10});
    EXPECT_EQ(to_string(fencing_token{10}), "10");
}

}  // namespace
}  // namespace holdfast
