// SPDX-License-Identifier: Apache-2.0
#include "lease/commands/lease_commands.hpp"
#include "core/text_arena.hpp"
#include "lease/commands/lease_scripts.hpp"

#include <holdfast/entropy.hpp>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace holdfast {
namespace {

TEST(text_arena, keeps_what_was_put_there_however_much_it_is) {
    detail::text_arena room;
    std::vector<std::string> wanted;
    std::vector<std::string_view> kept;
    for (int i = 0; i < 200; ++i) {
        const std::string part(static_cast<std::size_t>(i * 7 % 900),
                               static_cast<char>('a' + i % 26));
        wanted.push_back("{" + part + "}");
        kept.push_back(room.put({"{", part, "}"}));
        wanted.push_back(std::to_string(-i));
        kept.push_back(room.put(-i));
    }
    wanted.emplace_back("18446744073709551615");
    kept.push_back(room.put(std::numeric_limits<std::uint64_t>::max()));
    wanted.emplace_back("-9223372036854775808");
    kept.push_back(room.put(std::numeric_limits<std::int64_t>::min()));
    wanted.emplace_back();
    kept.push_back(room.put({}));
    for (std::size_t i = 0; i < wanted.size(); ++i) EXPECT_EQ(kept[i], wanted[i]);
    room.clear();
    EXPECT_EQ(room.put({"a", "b"}), "ab");
}

class commands_of_a_release : public testing::Test {
protected:
    void make(lease_way way, lease_form form) { said_.make(options_, request_, {}, way, form); }
    [[nodiscard]] std::optional<result<lease_reply>> hear(std::vector<reply> replies) {
        std::vector<result<reply>> all(replies.begin(), replies.end());
        return said_.interpret(all);
    }

    seeded_entropy chance_{1};
    const command_lease_options options_;
    const lease_request request_ =
        ask::release{*lock_name::make("job"), owner_token::draw(chance_), {}};
    lease_commands said_;
};

TEST_F(commands_of_a_release, have_an_answer_to_be_written_behind_the_message) {
    make(lease_way::full, lease_form::several);
    ASSERT_EQ(said_.commands().size(), 2U);
    EXPECT_EQ(said_.commands()[0].args[0], "DEL");
    const auto owner = std::get<ask::release>(request_).owner;
    EXPECT_EQ(said_.commands()[0].args[1], fmt::format("{{lock:job}}:waiters:{}", owner.value()));
    EXPECT_EQ(said_.commands()[1].body, &scripts().release);
    EXPECT_EQ(said_.commands()[1].args.back(), "0") << "its place in line is forgotten by then";
    const auto given = hear({reply::integer(0), reply::integer(1)});
    ASSERT_TRUE(given && *given);
    EXPECT_TRUE(std::holds_alternative<answer::released>(**given));
    const auto denied = hear({reply::error("NOPERM"), reply::integer(1)});
    EXPECT_TRUE(denied && *denied) << "nobody needs it";
    const auto gone = hear({reply::nil(), reply::integer(0)});
    ASSERT_TRUE(gone && *gone);
    EXPECT_TRUE(std::holds_alternative<answer::lost>(**gone));
}

TEST_F(commands_of_a_release, are_one_where_only_one_may_be_sent) {
    make(lease_way::full, lease_form::one);
    ASSERT_EQ(said_.commands().size(), 1U);
    EXPECT_EQ(said_.commands()[0].body, &scripts().release);
    EXPECT_EQ(said_.commands()[0].args.back(), "1") << "the script forgets its place in line";
}

TEST_F(commands_of_a_release, are_one_while_nobody_waits) {
    make(lease_way::fast, lease_form::several);
    ASSERT_EQ(said_.commands().size(), 1U);
    EXPECT_EQ(said_.commands()[0].body, &scripts().release_free);
    EXPECT_FALSE(hear({reply::integer(2)})) << "somebody does: the script is needed";
}

}  // namespace
}  // namespace holdfast
