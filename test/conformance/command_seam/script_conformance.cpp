// SPDX-License-Identifier: Apache-2.0
//
// Scripts: by their SHA-1, loaded when the server does not know them.
#include "conformance/command_seam/command_seam.hpp"

#include <array>
#include <chrono>
#include <future>

namespace holdfast::test {
namespace {

TEST_P(command_seam, a_script_that_the_server_does_not_know_is_loaded_and_run_in_the_same_call) {
    const script unseen("return {KEYS[1], ARGV[1], '" + key("unseen") + "'}");
    const std::string k = key("k");
    const std::array<std::string_view, 1> keys{k};
    const std::array<std::string_view, 1> args{"argument"};
    for (int call = 0; call < 2; ++call) {
        const auto answer = engine_->evaluate(unseen, keys, args, soon());
        ASSERT_TRUE(answer) << to_string(answer.error());
        EXPECT_EQ(*answer, reply::array({reply::string(k), reply::string("argument"),
                                         reply::string(key("unseen"))}));
    }
}

TEST_P(command_seam, a_sha_that_nobody_knows_and_without_a_body_is_answered_with_noscript) {
    const script unseen("return '" + key("unseen") + "'");
    const reply answer = ask("EVALSHA", unseen.sha1(), 0);
    EXPECT_TRUE(answer.text().starts_with("NOSCRIPT")) << to_string(answer);
}

TEST_P(command_seam, an_unknown_script_inside_a_pipeline_is_repaired_for_its_own_command) {
    const script unseen("return redis.call('INCR', KEYS[1]) .. '" + key("unseen") + "'");
    const std::string n = key("n");
    const auto before = words("SET", key("a"), "1");
    const auto plain = words("EVALSHA", unseen.sha1(), 1, n);
    const auto after = words("GET", key("a"));
    command eval = plain;
    eval.body = &unseen;
    const std::array<command, 4> commands{before, eval, after, eval};
    std::array<result<reply>, 4> replies;
    engine_->exchange(commands, replies, soon());
    for (const auto& r : replies) ASSERT_TRUE(r) << to_string(r.error());
    EXPECT_EQ(*replies[0], reply::status("OK"));
    EXPECT_EQ(*replies[2], reply::string("1"));
    const std::array<std::string, 2> texts{replies[1]->text(), replies[3]->text()};
    EXPECT_EQ(texts[0], "1" + key("unseen"));
    EXPECT_EQ(texts[1], "2" + key("unseen"));
    EXPECT_EQ(ask("GET", n), reply::string("2")) << "each was carried out once";
}

TEST_P(command_seam, a_session_repairs_an_unknown_script_too) {
    const script unseen("return '" + key("unseen") + "'");
    const auto mine = session();
    const auto plain = words("EVALSHA", unseen.sha1(), 0);
    command eval = plain;
    eval.body = &unseen;
    EXPECT_EQ(exchange_one(*mine, eval, soon()), reply::string(key("unseen")));
}

TEST_P(command_seam, submit_repairs_an_unknown_script_too) {
    const script unseen("return '" + key("unseen") + "'");
    std::promise<result<reply>> done;
    const auto plain = words("EVALSHA", unseen.sha1(), 0);
    command eval = plain;
    eval.body = &unseen;
    engine_->submit(eval, soon(), [&](result<reply> r) { done.set_value(std::move(r)); });
    auto future = done.get_future();
    ASSERT_EQ(future.wait_for(std::chrono::seconds(20)), std::future_status::ready);
    EXPECT_EQ(future.get().value(), reply::string(key("unseen")));
}

TEST_P(command_seam, an_error_that_a_script_returns_is_an_error_reply) {
    const std::string source = "return redis.error_reply('MYERR of " + key("") + "')";
    EXPECT_EQ(ask("EVAL", source, 0), reply::error("MYERR of " + key("")));
    const auto answer = engine_->evaluate(script(source), {}, {}, soon());
    ASSERT_FALSE(answer);
    EXPECT_EQ(answer.error(), errc::invalid_argument);
    EXPECT_NE(answer.error().detail.find("MYERR of"), std::string::npos);
}

TEST_P(command_seam, what_a_script_wrote_before_it_failed_stays) {
    const reply answer = ask(
        "EVAL", "redis.call('SET', KEYS[1], 'v') redis.call('LPUSH', KEYS[1], 'x')", 1, key("k"));
    EXPECT_TRUE(answer.text().starts_with("WRONGTYPE")) << to_string(answer);
    EXPECT_EQ(ask("GET", key("k")), reply::string("v"));
}

TEST_P(command_seam, lua_numbers_lose_their_fraction_and_false_is_nil) {
    EXPECT_EQ(ask("EVAL", "return {3.99, -3.99, true, false, 'x', {ok='fine'}}", 0),
              reply::array({reply::integer(3), reply::integer(-3), reply::integer(1), reply::nil(),
                            reply::string("x"), reply::status("fine")}));
}

TEST_P(command_seam, keys_and_arguments_of_a_script_may_hold_any_bytes) {
    const std::string bytes("\0\r\n\xff'\"\\", 7);
    EXPECT_EQ(ask("EVAL", "redis.call('SET', KEYS[1], ARGV[1]) return redis.call('GET', KEYS[1])",
                  1, key(bytes), bytes),
              reply::string(bytes));
}

}  // namespace
}  // namespace holdfast::test
