// SPDX-License-Identifier: Apache-2.0
#include <holdfast/engine/command.hpp>
#include <holdfast/engine/reply.hpp>

#include <gmock/gmock.h>

namespace holdfast {
namespace {

TEST(reply, shows_itself_on_one_line) {
    const reply r = reply::array({reply::string("a\n\"b\""), reply::integer(-1), reply::nil(),
                                  reply::status("OK"), reply::error("ERR no")});
    EXPECT_EQ(to_string(r), R"(["a\x0a\"b\"", (integer) -1, (nil), OK, (error) ERR no])");
}

TEST(reply, an_error_means_what_its_first_word_says) {
    EXPECT_EQ(to_error(reply::error("NOAUTH Authentication required.")), errc::denied);
    EXPECT_EQ(to_error(reply::error("NOPERM this user has no permissions")), errc::denied);
    EXPECT_EQ(to_error(reply::error("LOADING Redis is loading")), errc::unavailable);
    EXPECT_EQ(to_error(reply::error("OOM command not allowed")), errc::unavailable);
    EXPECT_EQ(to_error(reply::error("READONLY You can't write")), errc::unavailable);
    EXPECT_EQ(to_error(reply::error("WRONGTYPE Operation")), errc::corrupt);
    EXPECT_EQ(to_error(reply::error("ERR syntax error")), errc::invalid_argument);
    EXPECT_EQ(to_error(reply::error("ERR unknown command 'X'")), errc::unsupported);
    EXPECT_THAT(to_error(reply::error("OOM command")).detail, testing::HasSubstr("maxmemory"));
}

TEST(words, borrow_text_and_write_numbers) {
    const auto w = words("SET", "k", -9223372036854775807LL - 1, 18446744073709551615ULL);
    const auto view = w.view();
    EXPECT_THAT(std::vector<std::string_view>(view.begin(), view.end()),
                testing::ElementsAre("SET", "k", "-9223372036854775808", "18446744073709551615"));
}

TEST(script, is_named_by_its_sha1) {
    EXPECT_EQ(script("return 1").sha1(), "e0e1f9fabfc9d4800c877a703b823ac0578ff8db");
}

}  // namespace
}  // namespace holdfast
