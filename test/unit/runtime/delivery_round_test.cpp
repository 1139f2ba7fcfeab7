// SPDX-License-Identifier: Apache-2.0
#include <holdfast/engine/delivery_round.hpp>

#include <gmock/gmock.h>

#include <string>
#include <vector>

namespace holdfast::detail {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

struct delivery_rounds : testing::Test {
    struct parcel final : delivery_round::parcel {
        parcel(std::vector<std::string>& to, std::string what) : log(to), name(std::move(what)) {}
        void send() override { log.push_back(name); }
        std::vector<std::string>& log;
        std::string name;
    };

    std::vector<std::string> sent;
};

TEST_F(delivery_rounds, a_parcel_is_sent_when_the_round_ends_and_the_next_one_after_it) {
    EXPECT_EQ(delivery_round::current(), nullptr);
    {
        delivery_round round;
        EXPECT_EQ(delivery_round::current(), &round);
        EXPECT_EQ(round.open(), nullptr);
        round.begin(std::make_unique<parcel>(sent, "first"));
        EXPECT_THAT(sent, IsEmpty());
        round.begin(std::make_unique<parcel>(sent, "second"));
        EXPECT_THAT(sent, ElementsAre("first"));
    }
    EXPECT_THAT(sent, ElementsAre("first", "second"));
    EXPECT_EQ(delivery_round::current(), nullptr);
}

TEST_F(delivery_rounds, a_round_inside_another_is_one_of_its_own) {
    delivery_round outer;
    outer.begin(std::make_unique<parcel>(sent, "outer"));
    {
        delivery_round inner;
        EXPECT_EQ(delivery_round::current(), &inner);
        inner.begin(std::make_unique<parcel>(sent, "inner"));
    }
    EXPECT_EQ(delivery_round::current(), &outer);
    EXPECT_THAT(sent, ElementsAre("inner"));
}

}  // namespace
}  // namespace holdfast::detail
