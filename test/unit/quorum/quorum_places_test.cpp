// SPDX-License-Identifier: Apache-2.0
#include "lease/quorum/quorum_owners.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>

namespace holdfast::detail {
namespace {

using namespace std::chrono_literals;

using testing::ElementsAre;

const time_point began{1000s};

class quorum_places_of_three : public testing::Test {
protected:
    void undo(std::uint64_t at_0, std::uint64_t at_1, std::uint64_t at_2) {
        const std::array<fencing_token, 3> undone{{{at_0}, {at_1}, {at_2}}};
        EXPECT_TRUE(places.undoing(who, undone, look, began));
    }
    void ask() { look = places.look(who, true, began).look; }
    std::vector<fencing_token> undone() { return places.renew(who, began).undone; }

    seeded_entropy chance{7};
    const quorum_owners::asker who{owner_token::draw(chance), *lock_name::make("job")};
    quorum_owners places{3, chance};
    std::uint64_t look = 0;
};

TEST_F(quorum_places_of_three, remember_the_largest_that_is_being_undone_at_each_node) {
    ask();
    undo(5, 0, 3);
    undo(4, 0, 6);
    places.granted(who);
    EXPECT_THAT(undone(), ElementsAre(fencing_token{5}, fencing_token{0}, fencing_token{6}));
}

TEST_F(quorum_places_of_three, leave_it_to_a_later_request_to_undo_what_both_were_given) {
    ask();
    const std::uint64_t first = look;
    ask();
    const std::array<fencing_token, 3> late{{{5}, {0}, {0}}};
    EXPECT_FALSE(places.undoing(who, late, first, began));
    EXPECT_THAT(undone(), testing::IsEmpty());
    static_cast<void>(places.forget(who));
    EXPECT_TRUE(places.undoing(who, late, first, began)) << "it was given back, and asks no more";
}

TEST_F(quorum_places_of_three, forget_what_a_node_has_undone_or_granted_anew) {
    ask();
    undo(5, 0, 6);
    places.undone(who, 0, {4});
    places.voted(who, 2, {7});
    EXPECT_THAT(undone(), ElementsAre(fencing_token{5}, fencing_token{0}, fencing_token{0}))
        << "an older one says nothing about it";
    places.undone(who, 0, {5});
    EXPECT_THAT(undone(), ElementsAre(fencing_token{0}, fencing_token{0}, fencing_token{0}));
}

TEST_F(quorum_places_of_three, do_not_take_a_vote_that_is_being_undone_for_a_new_one) {
    ask();
    undo(5, 0, 0);
    places.voted(who, 0, {5});  // a node's answer to an earlier request, on its way until now
    EXPECT_THAT(undone(), ElementsAre(fencing_token{5}, fencing_token{0}, fencing_token{0}));
    places.voted(who, 0, {6});
    EXPECT_THAT(undone(), ElementsAre(fencing_token{0}, fencing_token{0}, fencing_token{0}));
}

}  // namespace
}  // namespace holdfast::detail
