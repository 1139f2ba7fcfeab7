// SPDX-License-Identifier: Apache-2.0
//
// Commands and pipelines: order, outcomes, bytes, errors, time.
#include "conformance/command_seam/command_seam.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <future>
#include <iterator>
#include <numeric>
#include <span>
#include <thread>
#include <vector>

namespace holdfast::test {
namespace {

using namespace std::chrono_literals;

std::string all_bytes() {
    std::string bytes(256, '\0');
    std::iota(bytes.begin(), bytes.end(), '\0');
    return bytes;
}

TEST_P(command_seam, a_pipeline_keeps_its_order) {
    constexpr std::size_t many = 500;
    const std::string list = key("list");
    std::vector<std::string> numbers(many);
    std::vector<std::array<std::string_view, 3>> lines(many);
    std::vector<command> commands(many);
    for (std::size_t i = 0; i < many; ++i) {
        numbers[i] = std::to_string(i);
        lines[i] = {"RPUSH", list, numbers[i]};
        commands[i].args = lines[i];
    }
    std::vector<result<reply>> replies(many);
    engine_->exchange(commands, replies, soon());
    for (std::size_t i = 0; i < many; ++i) {
        ASSERT_TRUE(replies[i]) << to_string(replies[i].error());
        ASSERT_EQ(*replies[i], reply::integer(static_cast<std::int64_t>(i) + 1));
    }
    const reply stored = ask("LRANGE", list, 0, -1);
    ASSERT_EQ(stored.elements().size(), many);
    for (std::size_t i = 0; i < many; ++i) EXPECT_EQ(stored.elements()[i].text(), numbers[i]);
}

TEST_P(command_seam, each_command_of_a_pipeline_has_its_own_outcome) {
    const std::string k = key("k");
    const auto set = words("SET", k, "v");
    const auto wrong = words("HGET", k, "f");
    const auto unknown = words("NOSUCHCOMMAND");
    const auto get = words("GET", k);
    const std::array<command, 4> commands{set, wrong, unknown, get};
    std::array<result<reply>, 4> replies;
    engine_->exchange(commands, replies, soon());
    for (const auto& r : replies) ASSERT_TRUE(r) << to_string(r.error());
    EXPECT_EQ(*replies[0], reply::status("OK"));
    EXPECT_TRUE(replies[1]->text().starts_with("WRONGTYPE")) << to_string(*replies[1]);
    EXPECT_TRUE(replies[2]->text().starts_with("ERR unknown command")) << to_string(*replies[2]);
    EXPECT_EQ(*replies[3], reply::string("v"));
}

TEST_P(command_seam, an_empty_pipeline_is_done_at_once) {
    engine_->exchange({}, {}, soon());
    EXPECT_EQ(ask("PING"), reply::status("PONG"));
}

TEST_P(command_seam, keys_and_values_may_hold_any_bytes) {
    const std::string k = key(all_bytes());
    EXPECT_EQ(ask("SET", k, all_bytes()), reply::status("OK"));
    EXPECT_EQ(ask("GET", k), reply::string(all_bytes()));
    EXPECT_EQ(ask("SET", k, ""), reply::status("OK"));
    EXPECT_EQ(ask("GET", k), reply::string(""));
    EXPECT_EQ(ask("HSET", key("h"), all_bytes(), "\r\n"), reply::integer(1));
    EXPECT_EQ(ask("HGET", key("h"), all_bytes()), reply::string("\r\n"));
}

TEST_P(command_seam, a_large_value_comes_back_whole) {
    std::string large(5'000'000, 'x');
    for (std::size_t i = 0; i < large.size(); i += 4096) large[i] = static_cast<char>(i / 4096);
    EXPECT_EQ(ask("SET", key("k"), large), reply::status("OK"));
    EXPECT_EQ(ask("GET", key("k")), reply::string(large));
}

TEST_P(command_seam, what_is_not_there_is_nil_and_not_empty) {
    EXPECT_TRUE(ask("GET", key("none")).is_nil());
    EXPECT_EQ(ask("LRANGE", key("none"), 0, -1), reply::array({}));
}

TEST_P(command_seam, execute_turns_an_error_reply_into_the_code_that_it_means) {
    ASSERT_EQ(ask("SET", key("k"), "v"), reply::status("OK"));
    const auto wrong_type = engine_->execute(words("HGET", key("k"), "f"), soon());
    ASSERT_FALSE(wrong_type);
    EXPECT_EQ(wrong_type.error(), errc::corrupt) << to_string(wrong_type.error());
    const auto unknown = engine_->execute(words("NOSUCHCOMMAND", key("k")), soon());
    ASSERT_FALSE(unknown);
    EXPECT_EQ(unknown.error(), errc::unsupported) << to_string(unknown.error());
    const auto arity = engine_->execute(words("GET"), soon());
    ASSERT_FALSE(arity);
    EXPECT_EQ(arity.error(), errc::invalid_argument) << to_string(arity.error());
}

TEST_P(command_seam, a_call_whose_time_is_over_answers_timed_out_and_does_nothing) {
    const auto set = words("SET", key("k"), "v");
    const std::array<command, 2> commands{set, set};
    std::array<result<reply>, 2> replies;
    engine_->exchange(commands, replies, past());
    for (const auto& r : replies) {
        ASSERT_FALSE(r);
        EXPECT_EQ(r.error(), errc::timed_out) << to_string(r.error());
    }
    EXPECT_TRUE(ask("GET", key("k")).is_nil());
}

TEST_P(command_seam, many_threads_share_one_engine) {
    constexpr int threads = 8;
    constexpr int each = 500;
    const std::string counter = key("counter");
    std::atomic<int> failures = 0;
    {
        std::vector<std::jthread> workers;
        for (int t = 0; t < threads; ++t) {
            workers.emplace_back([&] {
                for (int i = 0; i < each; ++i) {
                    if (!engine_->execute(words("INCR", counter), soon())) ++failures;
                }
            });
        }
    }
    EXPECT_EQ(failures, 0);
    EXPECT_EQ(ask("GET", counter), reply::string(std::to_string(threads * each)));
}

TEST_P(command_seam, submit_completes_exactly_once) {
    constexpr int many = 200;
    std::atomic<int> calls = 0;
    std::atomic<int> answered = 0;
    std::promise<void> all;
    for (int i = 0; i < many; ++i) {
        engine_->submit(words("INCR", key("n")), soon(), [&](result<reply> r) {
            if (r && r->type() == reply::kind::integer) ++answered;
            if (++calls == many) all.set_value();
        });
    }
    ASSERT_EQ(all.get_future().wait_for(20s), std::future_status::ready);
    EXPECT_EQ(ask("GET", key("n")), reply::string(std::to_string(many)));
    EXPECT_EQ(answered, many);
    EXPECT_EQ(calls, many) << "a completion was called again";
}

TEST_P(command_seam, submitted_commands_of_one_thread_keep_their_order) {
    constexpr int many = 200;
    std::atomic<int> left = many;
    std::promise<void> all;
    for (int i = 0; i < many; ++i) {
        engine_->submit(words("RPUSH", key("list"), i), soon(), [&](result<reply>) {
            if (--left == 0) all.set_value();
        });
    }
    ASSERT_EQ(all.get_future().wait_for(20s), std::future_status::ready);
    const reply stored = ask("LRANGE", key("list"), 0, -1);
    ASSERT_EQ(stored.elements().size(), static_cast<std::size_t>(many));
    for (int i = 0; i < many; ++i) {
        EXPECT_EQ(stored.elements()[static_cast<std::size_t>(i)].text(), std::to_string(i));
    }
}

TEST_P(command_seam, submit_copies_the_command_before_it_returns) {
    std::promise<result<reply>> done;
    {
        std::string k = key("k");
        std::string value(1000, 'v');
        engine_->submit(words("SET", k, value), soon(),
                        [&](result<reply> r) { done.set_value(std::move(r)); });
        k.assign(k.size(), '!');
        value.assign(value.size(), '!');
    }
    auto future = done.get_future();
    ASSERT_EQ(future.wait_for(20s), std::future_status::ready);
    EXPECT_TRUE(future.get());
    EXPECT_EQ(ask("GET", key("k")), reply::string(std::string(1000, 'v')));
}

TEST_P(command_seam, submit_returns_an_error_reply_as_a_reply) {
    std::promise<result<reply>> done;
    engine_->submit(words("GET"), soon(), [&](result<reply> r) { done.set_value(std::move(r)); });
    auto future = done.get_future();
    ASSERT_EQ(future.wait_for(20s), std::future_status::ready);
    const auto answer = future.get();
    ASSERT_TRUE(answer);
    EXPECT_TRUE(answer->is_error());
}

TEST_P(command_seam, submit_whose_time_is_over_completes_with_timed_out_and_does_nothing) {
    std::promise<result<reply>> done;
    engine_->submit(words("SET", key("k"), "v"), past(),
                    [&](result<reply> r) { done.set_value(std::move(r)); });
    auto future = done.get_future();
    ASSERT_EQ(future.wait_for(20s), std::future_status::ready);
    const auto answer = future.get();
    ASSERT_FALSE(answer);
    EXPECT_EQ(answer.error(), errc::timed_out) << to_string(answer.error());
    EXPECT_TRUE(ask("GET", key("k")).is_nil());
}

TEST_P(command_seam, commands_submitted_together_are_carried_out_in_order) {
    std::promise<std::vector<result<reply>>> done;
    {
        std::string k = key("k");
        const auto set = words("SET", k, "1");
        const auto add = words("INCRBY", k, 4);
        const auto wrong = words("LPUSH", k, "x");
        const std::array<command, command_engine::most_together> all{set, add, wrong};
        engine_->submit_together(all, soon(), [&](std::span<result<reply>> got) {
            done.set_value(
                {std::make_move_iterator(got.begin()), std::make_move_iterator(got.end())});
        });
        k.assign(k.size(), '!');
    }
    auto future = done.get_future();
    ASSERT_EQ(future.wait_for(20s), std::future_status::ready);
    const auto got = future.get();
    ASSERT_EQ(got.size(), command_engine::most_together);
    EXPECT_EQ(got[0].value(), reply::status("OK"));
    EXPECT_EQ(got[1].value(), reply::integer(5));
    EXPECT_TRUE(got[2].value().is_error());
    EXPECT_EQ(ask("GET", key("k")), reply::string("5"));
}

TEST_P(command_seam, commands_submitted_together_whose_time_is_over_do_nothing) {
    std::promise<std::vector<result<reply>>> done;
    const auto set = words("SET", key("k"), "v");
    const auto add = words("INCR", key("n"));
    const std::array<command, 2> both{set, add};
    engine_->submit_together(both, past(), [&](std::span<result<reply>> got) {
        done.set_value({std::make_move_iterator(got.begin()), std::make_move_iterator(got.end())});
    });
    auto future = done.get_future();
    ASSERT_EQ(future.wait_for(20s), std::future_status::ready);
    const auto got = future.get();
    ASSERT_FALSE(got[0]);
    EXPECT_EQ(got[0].error(), errc::timed_out) << to_string(got[0].error());
    EXPECT_FALSE(got[1]) << "it comes after what did not come";
    EXPECT_TRUE(ask("GET", key("k")).is_nil());
    EXPECT_TRUE(ask("GET", key("n")).is_nil());
}

TEST_P(command_seam, a_completion_may_submit_the_next_command) {
    std::promise<result<reply>> done;
    engine_->submit(words("SET", key("k"), "1"), soon(), [&](result<reply>) {
        engine_->submit(words("INCR", key("k")), soon(),
                        [&](result<reply> r) { done.set_value(std::move(r)); });
    });
    auto future = done.get_future();
    ASSERT_EQ(future.wait_for(20s), std::future_status::ready);
    EXPECT_EQ(future.get().value(), reply::integer(2));
}

}  // namespace
}  // namespace holdfast::test
