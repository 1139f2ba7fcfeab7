// SPDX-License-Identifier: Apache-2.0
#include "push/push_ground.hpp"

#include <holdfast/engine/command_engine.hpp>

#include <fmt/format.h>
#include <gmock/gmock.h>

#include <stdexcept>
#include <thread>

namespace holdfast::push::test {
namespace {

using namespace std::chrono_literals;

// What live push must do on every engine.
class push_conformance : public ::testing::TestWithParam<push_engine> {
protected:
    push_conformance() : url(GetParam().url()), hf(open(url).value()) {
        values.tagged = needs_tags(url);
        values.cooldown = 200ms;
        values.tail_check = 500ms;
    }

    [[nodiscard]] std::string key(const std::string& plain, const std::string& room) const {
        return plain + room + tag(room);
    }
    // Reads the tag off a key that is there.
    [[nodiscard]] std::string tag(const std::string& room) const {
        if (!values.tagged) return {};
        for (std::size_t i = 0; i < values.partitions; ++i) {
            std::string text = fmt::format("{{push{}}}", i);
            if (ask("EXISTS", "push:room:" + room + text).number() == 1) return text;
        }
        return {};
    }
    template <class... Words>
    reply ask(const Words&... list) const {
        return hf.commands()->execute(words(list...), hf.commands()->time().now() + 5s).value();
    }
    std::unique_ptr<job> start_job(job_options options = {}) {
        auto made = std::make_unique<job>(hf, values, log.sink(), &counts, std::move(options));
        made->start().value();
        return made;
    }
    admitted send(const post& p) {
        logic sender(hf, values, &counts);
        return sender.send(p).value().messages.at(0);
    }

    std::string url;
    client hf;
    settings values;
    test_log log;
    counters counts;
};

TEST_P(push_conformance, the_same_body_twice_is_delivered_once_and_logged_as_a_duplicate) {
    test_comet comet(hf, values, &counts);
    test_viewer& ann = comet.join("video_123");
    values.consumers = std::max<std::size_t>(values.tagged ? values.partitions : 1, 1);
    const auto workers = start_job();

    const admitted first = send(one_message("video_123", "hello"));
    const admitted second = send(one_message("video_123", "hello"));
    EXPECT_FALSE(first.duplicate);
    EXPECT_EQ(first.offset, 1U);
    EXPECT_TRUE(second.duplicate);
    EXPECT_EQ(second.offset, 1U);
    EXPECT_EQ(second.id, first.id);

    eventually("one delivery and one duplicate", {&comet}, [&] {
        return ann.messages() == 1 && log.count("Duplicate message skipped: " + first.id) == 1 &&
               log.count("Lock released") == 1;
    });
    EXPECT_EQ(ann.fault(), "");
    EXPECT_EQ(log.count("] Received PushMsg: video_123"), 2U);
    EXPECT_EQ(log.count("] Lock acquired: lock:broadcast:video_123"), 1U);
    EXPECT_EQ(log.count("] Message distributed: sent=1"), 1U);
    EXPECT_EQ(ask("GET", key("msg:processed:", "video_123") + ":" + first.id).text(), "1");
    const auto left = ask("PTTL", key("msg:processed:", "video_123") + ":" + first.id).number();
    EXPECT_GT(left, 30'000);
    EXPECT_LE(left, 60'000);
}

TEST_P(push_conformance, five_at_once_are_one_now_and_four_together_when_the_window_ends) {
    values.cooldown = 1s;
    test_comet comet(hf, values, &counts);
    test_viewer& ann = comet.join("five");
    for (int i = 0; i < 5; ++i) send(one_message("five", fmt::format("m{}", i)));
    const auto workers = start_job();
    eventually("all five", {&comet}, [&] { return ann.messages() == 5; });
    EXPECT_EQ(ann.fault(), "");
    ASSERT_EQ(ann.frames().size(), 2U);
    EXPECT_EQ(ann.frames()[0].count, 1U);
    EXPECT_EQ(ann.frames()[1].count, 4U);
    EXPECT_GE(log.count("] Room in cooldown, deferred: five"), 1U);
    EXPECT_EQ(log.count("skipping"), 0U);
    eventually("the queue is empty", {&comet},
               [&] { return logic(hf, values).queue_length().value() == 0U; });
}

TEST_P(push_conformance, five_at_once_in_mode_drop_are_one_broadcast_and_four_skipped) {
    values.mode = mode::drop;
    values.cooldown = 2s;
    test_comet comet(hf, values, &counts);
    test_viewer& ann = comet.join("dropping");
    for (int i = 0; i < 5; ++i) send(one_message("dropping", fmt::format("m{}", i)));
    const auto workers = start_job();
    eventually("one sent, four skipped", {&comet}, [&] {
        return log.count("] Room in cooldown, skipping: dropping") == 4 && ann.messages() == 1;
    });
    EXPECT_EQ(log.count("Message distributed: sent=1"), 1U);
    EXPECT_EQ(ask("GET", key("room:cooldown:", "dropping")).text(), "1");

    // An operator's DEL takes effect.
    ask("DEL", key("room:cooldown:", "dropping"));
    send(one_message("dropping", "after"));
    eventually("the next one goes at once", {&comet}, [&] { return ann.messages() == 2; });
    EXPECT_EQ(ann.fault(), "");
    std::uint64_t shed = 0;
    for (const seen_frame& f : ann.frames()) shed += f.shed;
    EXPECT_EQ(shed, 4U);

    // An important one is never dropped.
    send(one_message("dropping", "gift", message_class::important));
    eventually("the important one", {&comet}, [&] { return ann.messages() == 3; });
    EXPECT_EQ(ann.fault(), "");
}

TEST_P(push_conformance, latest_sends_the_newest_and_counts_the_others) {
    values.mode = mode::latest;
    test_comet comet(hf, values, &counts);
    test_viewer& ann = comet.join("price");
    for (int i = 0; i < 6; ++i) send(one_message("price", fmt::format("m{}", i)));
    const auto workers = start_job();
    eventually("the newest", {&comet}, [&] { return ann.last() == 6; });
    EXPECT_EQ(ann.fault(), "");
    EXPECT_LE(ann.messages(), 3U);
    EXPECT_EQ(ann.frames().back().offsets.back(), 6U);
}

TEST_P(push_conformance, of_several_consumers_one_works_and_the_others_say_so) {
    test_comet comet(hf, values, &counts);
    test_viewer& ann = comet.join("crowd");
    std::atomic<bool> told = false;
    values.consumers = values.tagged ? 2 * values.partitions : 4;
    values.mode = mode::none;
    const auto workers = start_job({.at_step = [&](std::size_t, job_step at, std::string_view) {
        if (at != job_step::locked || told) return;
        // Holds the room until another one has met the lock.
        for (int i = 0; i < 2000 && !told; ++i) {
            told = log.count("] Another consumer is processing room: crowd") > 0;
            std::this_thread::sleep_for(1ms);  // style: allow clock, because threads are real
        }
    }});
    // Whoever is free reads what comes meanwhile.
    std::size_t sent = 0;
    while (sent < 20 || (sent < 2000 && !told)) {
        send(one_message("crowd", fmt::format("m{}", sent++)));
        std::this_thread::sleep_for(1ms);  // style: allow clock, because threads are real
    }
    eventually("all", {&comet}, [&] { return ann.messages() == sent; });
    EXPECT_TRUE(told);
    EXPECT_EQ(ann.fault(), "");
    eventually("the queue is empty", {&comet},
               [&] { return logic(hf, values).queue_length().value() == 0U; });
}

TEST_P(push_conformance, a_consumer_killed_at_any_step_loses_and_doubles_nothing) {
    values.lock_life = 300ms;
    values.cooldown = 20ms;
    values.consumers = values.tagged ? 2 * values.partitions : 4;
    for (const job_step fatal : {job_step::received, job_step::looked, job_step::locked,
                                 job_step::broadcast, job_step::released}) {
        SCOPED_TRACE(static_cast<int>(fatal));
        const std::string room = fmt::format("crash{}", static_cast<int>(fatal));
        test_comet comet(hf, values, &counts);
        test_viewer& ann = comet.join(room);
        std::atomic<int> victims = 2;  // each partition has two consumers: leave one
        std::atomic<std::size_t> first_victim = 1000;
        const auto workers =
            start_job({.at_step = [&](std::size_t who, job_step at, std::string_view where) {
                if (at != fatal || where != room) return;
                std::size_t none = 1000;
                const bool mine = first_victim.compare_exchange_strong(none, who) || none == who;
                if (mine && victims-- > 0) throw std::runtime_error("killed");
            }});
        for (int i = 0; i < 30; ++i) send(one_message(room, fmt::format("m{}", i)));
        eventually("all", {&comet}, [&] { return ann.messages() == 30; });
        EXPECT_EQ(ann.fault(), "");
        EXPECT_NE(first_victim, 1000U);
    }
}

TEST_P(push_conformance, a_holder_that_lost_its_lock_is_fenced) {
    values.consumers = values.tagged ? 2 * values.partitions : 2;
    values.cooldown = 1ms;
    test_comet comet(hf, values, &counts);
    test_viewer& ann = comet.join("paused");
    std::atomic<bool> caught = false;
    std::atomic<bool> go_on = false;
    const auto workers = start_job({.at_step = [&](std::size_t, job_step at, std::string_view) {
        if (at != job_step::locked || caught.exchange(true)) return;
        // style: allow clock, because threads are real
        while (!go_on) std::this_thread::sleep_for(1ms);
    }});
    send(one_message("paused", "one"));
    eventually("a holder", {&comet}, [&] { return caught.load(); });
    ask("DEL", key("lock:broadcast:", "paused"));
    send(one_message("paused", "two"));
    send(one_message("paused", "three"));
    eventually("another holder", {&comet}, [&] { return ann.messages() == 3; });
    go_on = true;
    eventually("fenced", {&comet}, [&] { return counts.fenced == 1; });
    EXPECT_GE(log.count("] Broadcast failed"), 1U);
    send(one_message("paused", "four"));
    eventually("four", {&comet}, [&] { return ann.messages() == 4; });
    EXPECT_EQ(ann.fault(), "");
}

TEST_P(push_conformance, a_viewer_resumes_where_it_was_or_is_told_that_it_cannot) {
    values.history_length = 10;
    values.cooldown = 1ms;
    test_comet comet(hf, values, &counts);
    test_viewer& ann = comet.join("resume", "ann");
    const auto workers = start_job();
    for (int i = 0; i < 8; ++i) send(one_message("resume", fmt::format("m{}", i)));
    eventually("eight", {&comet}, [&] { return ann.messages() == 8; });
    const position here{ann.frames().back().epoch, 3};
    test_viewer& bob = comet.join("resume", "bob", here);
    eventually("what was missed", {&comet}, [&] { return bob.messages() == 5; });
    EXPECT_EQ(bob.fault(3), "");
    EXPECT_THAT(bob.others().at(0), ::testing::HasSubstr(R"("recovered":true)"));
    test_viewer& eve = comet.join("resume", "eve", position{"elsewhere", 3});
    EXPECT_THAT(eve.others().at(0), ::testing::HasSubstr(R"("recovered":false)"));
    for (int i = 0; i < 30; ++i) send(one_message("resume", fmt::format("n{}", i)));
    eventually("all", {&comet}, [&] { return ann.messages() == 38 && bob.messages() == 35; });
    EXPECT_EQ(bob.fault(3), "");
    EXPECT_EQ(eve.fault(8), "");
    test_viewer& joe = comet.join("resume", "joe", here);
    EXPECT_THAT(joe.others().at(0), ::testing::HasSubstr(R"("recovered":false)"));
}

TEST_P(push_conformance, the_keys_of_the_source_are_there_and_go_with_their_connections) {
    logic sender(hf, values, &counts);
    test_comet comet(hf, values, &counts);
    test_viewer& ann = comet.join("keys", "42");
    send(one_message("keys", "hello"));
    const std::string name = comet.loop().name_of(ann.number())->value;
    eventually("the keys", {&comet}, [&] {
        return ask("SISMEMBER", key("room:connections:", "keys"), name).number() == 1 &&
               ask("GET", "user:online:42").text() == name &&
               ask("HGET", "connection:info:" + name, "room_id").text() == "keys" &&
               sender.room("keys").value().value().viewers == 1;
    });
    EXPECT_EQ(ask("HGET", "connection:info:" + name, "comet_id").text(), comet.comet().id());
    EXPECT_EQ(ask("HGET", "connection:info:" + name, "user_id").text(), "42");
    EXPECT_GT(ask("PTTL", "connection:info:" + name).number(), 0);
    EXPECT_GT(ask("PTTL", key("room:connections:", "keys")).number(), 0);

    const room_state state = sender.room("keys").value().value();
    EXPECT_EQ(state.tail, 1U);
    EXPECT_EQ(state.mode, mode::coalesce);
    EXPECT_EQ(sender.rooms().value().at(0).name, "keys");
    EXPECT_THAT(sender.history("keys").value().messages.at(0).json,
                ::testing::StartsWith(R"({"offset":1,"id":"c-)"));
    comet.close(ann);
    eventually("they are gone", {&comet}, [&] {
        return ask("EXISTS", key("room:connections:", "keys")).number() == 0 &&
               ask("EXISTS", "user:online:42").number() == 0 &&
               ask("EXISTS", "connection:info:" + name).number() == 0;
    });
}

TEST_P(push_conformance, a_post_is_admitted_by_one_command_and_whole) {
    logic sender(hf, values, &counts);
    post several{.room = "whole", .user = "ann", .user_name = "Ann \"A\""};
    for (int i = 0; i < 100; ++i) {
        several.messages.push_back(
            {.content = fmt::format("m\n\"{}", i), .id = fmt::format("{}", i)});
    }
    const receipt taken = sender.send(several).value();
    ASSERT_EQ(taken.messages.size(), 100U);
    EXPECT_EQ(taken.messages.back().offset, 100U);
    EXPECT_EQ(sender.queue_length().value(), 1U);

    test_comet comet(hf, values, &counts);
    test_viewer& ann = comet.join("whole", "1", position{taken.epoch, 0});
    const auto workers = start_job();
    eventually("one frame", {&comet}, [&] { return ann.messages() == 100; });
    EXPECT_EQ(ann.frames().size(), 1U);

    values.queue_length = 1;
    send(one_message("whole2", "fills the queue"));
    several.messages.front().content.clear();
    EXPECT_EQ(sender.send(several).error().reason, refusal_reason::content_missing);
    EXPECT_EQ(sender.send(several).error().field, "messages/0/content");
}

INSTANTIATE_TEST_SUITE_P(engines, push_conformance, ::testing::ValuesIn(push_engines()),
                         [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace holdfast::push::test
