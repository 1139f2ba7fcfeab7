// SPDX-License-Identifier: Apache-2.0
#include "push/consumer_plan.hpp"
#include "push/frame_text.hpp"
#include "push/push_ground.hpp"
#include "push/room_track.hpp"

#include <holdfast/push/outbox.hpp>
#include <holdfast/push/post.hpp>

#include <gmock/gmock.h>

namespace holdfast::push::test {
namespace {

using namespace std::chrono_literals;

shared_frame make_frame(std::uint64_t first, std::uint64_t last, std::size_t bytes = 10,
                        message_class kind = message_class::normal) {
    std::vector<frame_message> messages;
    for (std::uint64_t i = first; i <= last; ++i) {
        messages.push_back(
            {i, kind, with_offset("{\"c\":\"" + std::string(bytes, 'x') + "\"}", i)});
    }
    return std::make_shared<frame>("r", "e", first, last, std::move(messages));
}

TEST(push_settings, the_first_rule_that_matches_a_room_counts) {
    settings s;
    s.rules = {{.pattern = "auction_*", .mode = mode::latest},
               {.pattern = "*", .mode = mode::drop}};
    EXPECT_EQ(policy_of(s, "auction_7").mode, mode::latest);
    EXPECT_EQ(policy_of(s, "video_1").mode, mode::drop);
    EXPECT_TRUE(check(s));
    s.cooldown = 0s;
    EXPECT_EQ(check(s).error(), errc::invalid_argument);
}

TEST(push_post, what_is_wrong_is_named_by_reason_and_field) {
    const settings s;
    EXPECT_EQ(find_fault(one_message("video_123", "hello"), s), std::nullopt);
    EXPECT_EQ(find_fault(one_message("", "hello"), s)->reason, refusal_reason::room_missing);
    EXPECT_EQ(find_fault(one_message("a:b", "x"), s)->reason, refusal_reason::room_characters);
    EXPECT_EQ(find_fault(one_message("a{b}", "x"), s)->reason, refusal_reason::room_characters);
    EXPECT_EQ(find_fault(one_message("r", "\xff"), s)->field, "messages/0/content");
    settings strict;
    strict.require_ids = true;
    EXPECT_EQ(find_fault(one_message("r", "666"), strict)->reason, refusal_reason::id_missing);
}

TEST(push_post, an_id_is_derived_from_room_user_and_content) {
    const post a = one_message("r", "hello");
    post b = a;
    EXPECT_EQ(id_of(a, a.messages[0]), id_of(b, b.messages[0]));
    b.room = "s";
    EXPECT_NE(id_of(a, a.messages[0]), id_of(b, b.messages[0]));
    b = a;
    b.user = 124;
    EXPECT_NE(id_of(a, a.messages[0]), id_of(b, b.messages[0]));
    b.messages[0].id = "mine";
    EXPECT_EQ(id_of(b, b.messages[0]), "mine");
}

TEST(push_frame, a_published_frame_is_read_back_and_damage_is_refused) {
    const auto read = parse_published("r", "hf1 e 3 5\n3 1 {\"id\":\"a\"}\n5 2 {\"id\":\"b\"}");
    ASSERT_TRUE(read);
    EXPECT_EQ((*read)->shed(), 1U);
    EXPECT_THAT(*(*read)->text(), ::testing::HasSubstr(R"("first":3,"last":5,"count":2,"shed":1)"));
    EXPECT_FALSE(parse_published("r", ""));
    EXPECT_FALSE(parse_published("r", "hf1 e 5 3\n"));
    EXPECT_FALSE(parse_published("r", "hf1 e 1 2\n2 1 {}\n1 1 {}"));
    EXPECT_FALSE(parse_published("r", "hf1 e 1 1\n1 1"));
}

TEST(push_outbox, a_slow_viewer_gets_merged_frames_then_fewer_messages_then_is_closed) {
    outbox queue({.bytes = 8000, .frames = 100});
    queue.start_at("r", {"e", 0});
    using outcome = outbox::outcome;
    std::uint64_t next = 1;
    const auto put = [&](message_class kind) {
        const outcome how = queue.put(make_frame(next, next, 100, kind));
        ++next;
        return how;
    };
    while (queue.merged() == 0) ASSERT_EQ(put(message_class::normal), outcome::queued);
    EXPECT_EQ(queue.shed(), 0U);
    while (queue.shed() == 0) ASSERT_EQ(put(message_class::normal), outcome::queued);
    const std::uint64_t important = next;
    ASSERT_EQ(put(message_class::important), outcome::queued);

    std::uint64_t expected = 1;
    std::vector<std::uint64_t> offsets;
    while (const shared_text text = queue.next()) {
        const seen_frame f = read_frame(*text);
        EXPECT_EQ(f.first, expected);
        EXPECT_EQ(f.count + f.shed, f.last - f.first + 1);
        expected = f.last + 1;
        offsets.insert(offsets.end(), f.offsets.begin(), f.offsets.end());
    }
    EXPECT_EQ(expected, next);
    EXPECT_THAT(offsets, ::testing::Contains(important));
    EXPECT_EQ(queue.written().at("r").offset, next - 1);
    EXPECT_EQ(queue.bytes(), 0U);

    outcome how = outcome::queued;
    for (int i = 0; i < 1000 && how == outcome::queued; ++i) how = put(message_class::important);
    EXPECT_EQ(how, outcome::overflow);
}

TEST(push_track, a_hole_is_read_and_what_is_late_or_doubled_is_left_out) {
    room_track track("r", 100);
    ASSERT_TRUE(track.start().read);
    read_answer there{.epoch = "e", .cursor = 2, .tail = 2, .floor = 0, .last = 2, .messages = {}};
    EXPECT_EQ(track.read(there).ready->offset, 2U);

    EXPECT_EQ(track.hear(make_frame(3, 3)).deliver.size(), 1U);
    EXPECT_TRUE(track.hear(make_frame(3, 3)).deliver.empty());
    EXPECT_EQ(track.hear(make_frame(3, 4)).deliver.at(0)->first(), 4U);

    const track_step hole = track.hear(make_frame(6, 6));
    EXPECT_TRUE(hole.deliver.empty());
    EXPECT_EQ(hole.read->after, 4U);
    const shared_frame five = make_frame(5, 6);
    there.cursor = there.last = 6;
    there.messages.assign(five->messages().begin(), five->messages().end());
    const track_step mended = track.read(there);
    ASSERT_EQ(mended.deliver.size(), 1U);
    EXPECT_EQ(mended.deliver[0]->first(), 5U);
    EXPECT_EQ(mended.deliver[0]->last(), 6U);
    EXPECT_FALSE(mended.read);
}

TEST(push_plan, a_room_that_is_taken_is_looked_at_again_and_told_of_once) {
    settings s;
    counters counts;
    test_log log;
    consumer_plan plan(2, s, log.sink(), counts);
    time_point now{};
    plan.take({.id = "1-0", .room = "r", .epoch = "e", .first = 1, .last = 1}, now);
    EXPECT_FALSE(plan.take({.id = "1-0", .room = "r", .epoch = "e", .first = 1, .last = 1}, now));
    const room_view quiet{.epoch = "e", .tail = 1, .cursor = 0, .cooldown_ms = -2};
    for (int i = 0; i < 3; ++i) {
        ASSERT_THAT(plan.due(now), ::testing::ElementsAre("r"));
        ASSERT_EQ(plan.looked("r", quiet, now), consumer_plan::verdict::acquire);
        plan.lock_busy("r", now);
        EXPECT_TRUE(plan.due(now).empty());
        now = plan.wake();
    }
    EXPECT_EQ(log.count("[Consumer 2] Another consumer is processing room: r"), 1U);
    // The other one has sent it.
    const room_view sent{.epoch = "e", .tail = 1, .cursor = 1, .cooldown_ms = 900};
    EXPECT_EQ(plan.looked("r", sent, now), consumer_plan::verdict::wait);
    EXPECT_THAT(plan.take_acknowledged(), ::testing::ElementsAre("1-0"));
    EXPECT_TRUE(plan.pending().empty());
}

}  // namespace
}  // namespace holdfast::push::test
