// SPDX-License-Identifier: Apache-2.0
//
// Subscriptions: who hears what, and until when.
#include "conformance/command_seam/command_seam.hpp"
#include "support/wait_for.hpp"

#include <array>
#include <atomic>
#include <mutex>
#include <set>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace holdfast::test {
namespace {

class listener {
public:
    push_handler handler() {
        return [this](const push_event& event) {
            const std::scoped_lock guard(mutex_);
            if (event.type != push_event::kind::message) return;
            heard_.emplace_back(std::string(event.channel), std::string(event.payload));
        };
    }
    std::vector<std::pair<std::string, std::string>> heard() const {
        const std::scoped_lock guard(mutex_);
        return heard_;
    }
    void await(std::size_t messages) const {
        wait_for(std::to_string(messages) + " messages",
                 [&] { return heard().size() >= messages; });
    }

private:
    mutable std::mutex mutex_;
    std::vector<std::pair<std::string, std::string>> heard_;
};

std::unique_ptr<subscription> subscribed(command_engine& engine, const std::string& channel,
                                         listener& to, time_point give_up) {
    auto made = engine.subscribe(channel, channel_scope::global, to.handler(), give_up);
    if (made) return std::move(*made);
    throw std::runtime_error("no subscription: " + to_string(made.error()));
}

TEST_P(command_seam, publish_reaches_every_subscriber_and_counts_them) {
    const std::string channel = key("news");
    EXPECT_EQ(ask("PUBLISH", channel, "nobody"), reply::integer(0));
    listener first;
    const auto one = subscribed(*engine_, channel, first, soon());
    EXPECT_GE(ask("PUBLISH", channel, "m1").number(), 1);
    first.await(1);
    EXPECT_EQ(first.heard().front(), std::pair(channel, std::string("m1")));
    listener second;
    const auto two = subscribed(*engine_, channel, second, soon());
    EXPECT_GE(ask("PUBLISH", channel, "m2").number(), 1);
    first.await(2);
    second.await(1);
    EXPECT_EQ(second.heard().front().second, "m2");
    EXPECT_EQ(first.heard().size(), 2U);
}

TEST_P(command_seam, messages_of_one_publisher_arrive_in_order_and_complete) {
    constexpr int many = 300;
    listener ears;
    const auto held = subscribed(*engine_, key("c"), ears, soon());
    for (int i = 0; i < many; ++i) ASSERT_GE(ask("PUBLISH", key("c"), i).number(), 1);
    ears.await(many);
    const auto heard = ears.heard();
    ASSERT_EQ(heard.size(), static_cast<std::size_t>(many));
    for (int i = 0; i < many; ++i) {
        EXPECT_EQ(heard[static_cast<std::size_t>(i)].second, std::to_string(i));
    }
}

TEST_P(command_seam, a_subscriber_hears_its_own_channel_alone) {
    listener ears;
    const auto held = subscribed(*engine_, key("mine"), ears, soon());
    EXPECT_EQ(ask("PUBLISH", key("mine*"), "no"), reply::integer(0));
    EXPECT_EQ(ask("PUBLISH", key("yours"), "no"), reply::integer(0));
    EXPECT_GE(ask("PUBLISH", key("mine"), "yes").number(), 1);
    ears.await(1);
    EXPECT_EQ(ears.heard(), (std::vector{std::pair(key("mine"), std::string("yes"))}));
}

TEST_P(command_seam, channels_and_messages_may_hold_any_bytes) {
    const std::string bytes("\0\r\n\xff*?[", 7);
    listener ears;
    const auto held = subscribed(*engine_, key(bytes), ears, soon());
    EXPECT_GE(ask("PUBLISH", key(bytes), bytes).number(), 1);
    ears.await(1);
    EXPECT_EQ(ears.heard().front(), std::pair(key(bytes), bytes));
}

TEST_P(command_seam, a_subscription_ends_with_its_destructor) {
    const std::string channel = key("c");
    std::atomic<bool> ended = false;
    std::atomic<int> late = 0;
    std::atomic<int> heard = 0;
    auto held = engine_->subscribe(
        channel, channel_scope::global,
        [&](const push_event&) {
            ++heard;
            if (ended) ++late;
        },
        soon());
    ASSERT_TRUE(held) << to_string(held.error());
    ASSERT_GE(ask("PUBLISH", channel, "while it lives").number(), 1);
    wait_for("the message", [&] { return heard > 0; });
    held->reset();
    ended = true;
    wait_for("nobody to be counted", [&] { return ask("PUBLISH", channel, "late").number() == 0; });
    EXPECT_EQ(late, 0) << "the handler was called after the destructor had returned";
}

TEST_P(command_seam, a_script_and_a_transaction_publish_like_anyone) {
    listener ears;
    const auto held = subscribed(*engine_, key("c"), ears, soon());
    using counted = command_engine_factory::counted;
    const int at_least = GetParam().published == counted::everyone ? 1 : 0;
    EXPECT_GE(
        ask("EVAL", "return redis.call('PUBLISH', ARGV[1], 'by script')", 1, key("k"), key("c"))
            .number(),
        at_least);
    const auto publish = words("PUBLISH", key("c"), "by transaction");
    const std::array<command, 1> commands{publish};
    const auto answer = engine_->transaction(commands, soon());
    ASSERT_TRUE(answer) << to_string(answer.error());
    EXPECT_GE(answer->elements().at(0).number(), at_least);
    ears.await(2);
    // In a Cluster two nodes may have sent them: they come in any order.
    std::multiset<std::string> texts;
    for (const auto& [channel, text] : ears.heard()) texts.insert(text);
    EXPECT_EQ(texts, (std::multiset<std::string>{"by script", "by transaction"}));
}

TEST_P(command_seam, subscribing_when_the_time_is_over_answers_timed_out) {
    listener ears;
    const auto made = engine_->subscribe(key("c"), channel_scope::global, ears.handler(), past());
    ASSERT_FALSE(made);
    EXPECT_EQ(made.error(), errc::timed_out) << to_string(made.error());
    EXPECT_EQ(ask("PUBLISH", key("c"), "m"), reply::integer(0));
}

}  // namespace
}  // namespace holdfast::test
