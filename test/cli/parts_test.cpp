// SPDX-License-Identifier: Apache-2.0
//
// The parts of the command line that only decide: no engine, no process, no clock.
#include "commands/doctor/cache_facts.hpp"
#include "commands/lock/lease_changes.hpp"
#include "commands/lock/lease_text.hpp"
#include "commands/top/frame.hpp"
#include "commands/top/losses.hpp"
#include "core/json_text.hpp"
#include "display_width.hpp"
#include "printable.hpp"
#include "rate_text.hpp"
#include "time_text.hpp"

#include <holdfast/engine/span_text.hpp>
#include <holdfast/engine/suggest.hpp>

#include <fmt/format.h>
#include <gmock/gmock.h>

#include <string>
#include <variant>

namespace holdfast::app {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;
using testing::HasSubstr;

lease_info held(const std::string& name, std::uint64_t fence, std::uint32_t waiters = 0) {
    lease_info made;
    made.name = name;
    made.fence = {fence};
    made.waiters = waiters;
    made.remaining = 10s;
    holder_info holder;
    holder.who = {"web1", 7, "report"};
    holder.fence = {fence};
    made.holders.push_back(holder);
    return made;
}

TEST(rate_text, takes_words_and_times_for_the_period) {
    EXPECT_EQ(parse_rate("10/min")->period, 1min);
    EXPECT_EQ(parse_rate("10/min")->amount, 10U);
    EXPECT_EQ(parse_rate("1/s")->period, 1s);
    EXPECT_EQ(parse_rate("500/day")->period, 24h);
    EXPECT_EQ(parse_rate("3/90s")->period, 90s);
}

TEST(rate_text, says_how_to_write_what_is_no_rate) {
    for (const char* text :
         {"", "10", "/min", "10/", "x/min", "10/fortnight", "-1/s", "10/min/min"}) {
        const auto parsed = parse_rate(text);
        ASSERT_FALSE(parsed) << text;
        EXPECT_THAT(parsed.error().detail, HasSubstr("write 10/s")) << text;
    }
    EXPECT_THAT(parse_rate("10/5x").error().detail, HasSubstr("'5x' is no time; write"));
}

TEST(rate_text, says_the_bounds_to_what_is_out_of_them) {
    for (const char* text : {"0/s", "1/0", "1/500us", "1000000001/s", "99999999999999999999/s"}) {
        const auto parsed = parse_rate(text);
        ASSERT_FALSE(parsed) << text;
        EXPECT_THAT(parsed.error().detail, HasSubstr("1 to 1000000000 in 1ms to 8760h")) << text;
    }
    EXPECT_THAT(parse_rate("1/9000h").error().detail, HasSubstr("the most is 8760h"));
}

TEST(span_text, tells_what_is_too_long_from_what_is_no_time) {
    EXPECT_EQ(parse_span("8760h"), 8760h);
    EXPECT_EQ(parse_span("2000000000us"), 2000s);
    for (const char* text : {"8761h", "99999999999h", "99999999999999999999s"}) {
        EXPECT_THAT(parse_span(text).error().detail, HasSubstr("is too long; the most is 8760h"))
            << text;
    }
    for (const char* text : {"", "10", "-1s", "-99999999999999999999s", "1d", "s"}) {
        EXPECT_THAT(parse_span(text).error().detail, HasSubstr("is no time; write")) << text;
    }
}

TEST(suggest, takes_a_beginning_for_the_shortest_word_that_begins_so) {
    const std::vector<std::string_view> known{"--engine-file", "--engine", "--every"};
    EXPECT_EQ(did_you_mean("--eng", known), "; did you mean '--engine'?");
    EXPECT_EQ(did_you_mean("--engine-f", known), "; did you mean '--engine-file'?");
    EXPECT_EQ(did_you_mean("--e", known), "");
    EXPECT_EQ(did_you_mean("--", known), "");
}

TEST(rate_text, is_a_strict_window_and_with_a_burst_a_bucket) {
    const rate ten{10, 1min};
    EXPECT_EQ(std::get<sliding_log>(rule_of(ten, 0)).limit, 10U);
    EXPECT_EQ(std::get<sliding_counter>(rule_of({5000, 1min}, 0)).limit, 5000U);
    EXPECT_EQ(std::get<token_bucket>(rule_of(ten, 50)).capacity, 50U);
    EXPECT_EQ(std::get<token_bucket>(rule_of(ten, 50)).refill, 10U);
}

TEST(time_text, is_short_and_never_says_sooner_than_it_is) {
    EXPECT_EQ(show_roughly(250ms), "250 ms");
    EXPECT_EQ(show_roughly(1500us), "2 ms");
    EXPECT_EQ(show_roughly(4200ms), "4.2 s");
    EXPECT_EQ(show_roughly(200s), "3 min 20 s");
    EXPECT_EQ(show_roughly(2h + 5min), "2 h 5 min");
}

TEST(json_text, quotes_what_would_break_a_line) {
    detail::json_object out;
    out.put("name", std::string("a\"b\\c\nd"));
    out.put("yes", true);
    out.put("count", 3);
    out.put("none", std::optional<double>{});
    EXPECT_EQ(out.text(), "{\"name\": \"a\\\"b\\\\c\\u000ad\", \"yes\": true, \"count\": 3}");
}

TEST(json_text, writes_large_numbers_in_full) {
    detail::json_object out;
    out.put("ms", 3'948'679.4);
    out.put("us", 0.27123456);
    EXPECT_EQ(out.text(), "{\"ms\": 3948679, \"us\": 0.271235}");
}

TEST(lease_changes, tell_who_came_who_went_and_what_was_handed_off) {
    const std::vector before{held("a", 1), held("b", 2, 1), held("c", 3), held("d", 4)};
    const std::vector after{held("b", 5), held("c", 3, 2), held("d", 6), held("e", 7)};
    std::vector<std::string> told;
    for (const auto& change : changes_between(before, after)) {
        told.push_back(change.now.name + " " + std::string(to_string(change.type)));
    }
    EXPECT_THAT(told,
                ElementsAre("a free", "b handed off", "c waiting", "d acquired", "e acquired"));
}

TEST(lease_changes, tell_of_several_holders_who_came_and_who_left) {
    const auto together = [](std::initializer_list<std::uint64_t> fences) {
        lease_info made = held("a", 0);
        made.mode = {lease_mode::kind::permit, static_cast<std::uint32_t>(fences.size()), 3};
        made.holders.clear();
        for (const std::uint64_t fence : fences) {
            holder_info one;
            one.client = fmt::format("client{}", fence);
            one.fence = {fence};
            made.holders.push_back(one);
        }
        return made;
    };
    const auto told = [](const lease_info& before, const lease_info& after) {
        std::string text;
        for (const auto& change : changes_between({&before, 1}, {&after, 1})) {
            text += to_string(change.type);
            for (const holder_info& one : change.before.holders) text += " -" + one.client;
        }
        return text;
    };
    EXPECT_EQ(told(together({1, 2}), together({1, 2, 3})), "acquired");
    EXPECT_EQ(told(together({1, 2}), together({2})), "left -client1");
    EXPECT_EQ(told(together({1, 2}), together({1})), "left -client2");
    EXPECT_EQ(told(together({1, 2}), together({1, 3})), "acquired -client2");
    EXPECT_EQ(told(together({1, 2}), together({1, 2})), "");
}

TEST(lease_changes, of_a_name_that_is_free_tell_its_name_and_who_held_it) {
    const std::vector before{held("a", 1, 2)};
    const auto changes = changes_between(before, {});
    ASSERT_EQ(changes.size(), 1U);
    EXPECT_EQ(to_json(changes[0].now), "{\"name\": \"a\", \"waiters\": 0, \"holders\": []}");
    EXPECT_EQ(changes[0].before.holders.size(), 1U);
}

TEST(lease_text, has_the_numbers_of_permits_by_themselves_in_json) {
    lease_info pool = held("a", 7);
    pool.mode = {lease_mode::kind::permit, 2, 3};
    pool.holders[0].permits = 2;
    waiter_info waits;
    waits.mode = {lease_mode::kind::permit, 1, 3};
    pool.queue.push_back(waits);
    const std::string json = to_json(pool);
    EXPECT_THAT(json, HasSubstr("\"mode\": \"permits\", \"permits\": 2, \"of\": 3, \"fence\": 7"));
    EXPECT_THAT(json, HasSubstr("\"fence\": 7, \"permits\": 2}"));
    EXPECT_THAT(json, HasSubstr("[{\"mode\": \"permits\", \"permits\": 1, \"of\": 3}]"));
    EXPECT_THAT(to_json(held("a", 7)), HasSubstr("\"mode\": \"exclusive\", \"fence\""));
}

TEST(printable, leaves_text_alone_and_escapes_what_a_terminal_would_obey) {
    EXPECT_EQ(printable("näme/注文 🚀 \\"), "näme/注文 🚀 \\");
    EXPECT_EQ(printable("a\x1b[31mb\n\tc\x7f"), "a\\x1b[31mb\\n\\tc\\x7f");
    EXPECT_EQ(printable("\u009b2J"), "\\u009b2J");    // one character that begins an order
    EXPECT_EQ(printable("\u202egnp"), "\\u202egnp");  // writes from right to left from here on
    EXPECT_EQ(printable("\xff\x80x"), "\\xff\\x80x");
    EXPECT_EQ(printable_lines("a\n\tb\x1b"), "a\n\tb\\x1b");
}

TEST(lease_text, of_other_people_does_not_command_a_terminal) {
    EXPECT_EQ(show_who({"web\x1b]0;x\a", 7, "re\nport"}), "re\\nport on web\\x1b]0;x\\x07 (7)");
    lease_info seen = held("a", 1);
    seen.holders[0].who.program = "re\nport\u009b";
    EXPECT_THAT(to_json(seen), HasSubstr("\"program\": \"re\\u000aport\\u009b\""));
}

TEST(lease_text, shows_what_a_holder_says_of_itself) {
    lease_info seen = held("a", 1);
    EXPECT_EQ(show_note(seen), "");
    EXPECT_THAT(to_json(seen), testing::Not(HasSubstr("note")));
    seen.holders[0].note = "shard 7\u009b";
    EXPECT_EQ(show_note(seen), "shard 7\\u009b");
    EXPECT_THAT(to_json(seen), HasSubstr("\"note\": \"shard 7\\u009b\""));
}

TEST(json_text, is_text_whatever_is_put_into_it) {
    EXPECT_EQ(detail::json_quoted("a\xff\x7f"), "\"a\uFFFD\\u007f\"");
}

TEST(lease_changes, do_not_take_a_fence_that_becomes_known_for_another_holder) {
    const std::vector before{held("a", 0)};
    const std::vector after{held("a", 9)};
    EXPECT_TRUE(changes_between(before, after).empty());
}

lease_info left(const std::string& name, std::uint64_t fence, duration remaining) {
    lease_info made = held(name, fence);
    made.remaining = remaining;
    made.holders.front().remaining = remaining;
    return made;
}

TEST(loss_watch, counts_a_lease_that_ran_out_and_not_one_that_was_given_back) {
    loss_watch watch;
    EXPECT_EQ(watch.look(std::vector{left("kept", 1, 30s), left("gone", 2, 30s)}, 1s), 0U);
    EXPECT_EQ(watch.look(std::vector{left("kept", 1, 29s), left("gone", 2, 1s)}, 29s), 0U);
    EXPECT_EQ(watch.look({}, 1s), 1U);
    EXPECT_EQ(watch.look({}, 1s), 0U);
}

TEST(loss_watch, counts_one_whose_name_the_next_in_line_has) {
    loss_watch watch;
    EXPECT_EQ(watch.look(std::vector{left("a", 1, 10s)}, 1s), 0U);
    EXPECT_EQ(watch.look(std::vector{left("a", 1, 500ms)}, 9500ms), 0U);
    EXPECT_EQ(watch.look(std::vector{left("a", 2, 10s)}, 1s), 1U);
}

TEST(loss_watch, does_not_judge_a_lease_that_is_shorter_than_the_time_between_looks) {
    loss_watch watch;
    EXPECT_EQ(watch.look(std::vector{left("a", 1, 900ms)}, 1s), 0U);
    EXPECT_EQ(watch.look({}, 1s), 0U);
}

TEST(display_width, counts_two_for_wide_characters_and_none_for_accents_that_are_put_on) {
    EXPECT_EQ(columns("orders"), 6);
    EXPECT_EQ(columns("näme"), 4);
    EXPECT_EQ(columns("注文"), 4);
    EXPECT_EQ(columns("🚀x"), 3);
    EXPECT_EQ(columns("e\u0301a"), 2);  // an accent by itself, after its letter
    EXPECT_EQ(columns("\xff\xc3"), 2);
}

TEST(display_width, fits_text_to_a_column_without_cutting_a_wide_character_in_two) {
    EXPECT_EQ(fit("ab", 4), "ab  ");
    EXPECT_EQ(fit("abcdef", 4), "abc…");
    EXPECT_EQ(fit("注文票", 6), "注文票");
    EXPECT_EQ(fit("注文票", 5), "注文…");
    EXPECT_EQ(fit("注文票", 4), "注… ");
    EXPECT_EQ(fit("e\u0301e\u0301e\u0301", 2), "e\u0301…");
}

TEST(display_width, breaks_lines_at_blanks) {
    EXPECT_EQ(wrapped("one two three", 7, 2), "one two\n  three");
    EXPECT_EQ(wrapped("longer-than-that is", 6, 0), "longer-than-that\nis");
}

TEST(cache_sample, says_what_is_big_what_lasts_and_how_many_reads_hit) {
    key_sample sample;
    EXPECT_TRUE(judge_sample(sample, 0.1, "here").empty());
    sample.add({.name = "plain"});
    EXPECT_TRUE(judge_sample(sample, 0.1, "here").empty());
    sample.add({.name = "n:1", .is_entry = true, .size = key_sample::big_entry});
    auto found = judge_sample(sample, 0.934, "here");
    ASSERT_EQ(found.size(), 1U);
    EXPECT_EQ(found[0].weight, finding::level::good);
    EXPECT_EQ(found[0].text,
              "1 of 2 sampled keys are entries of caches; 93 % of the server's reads find their "
              "key");
    sample.add({.name = "n:2", .is_entry = true, .size = key_sample::big_entry + 1});
    sample.add({.name = "n:3", .lasts = true, .is_entry = true, .size = 9 * key_sample::big_entry});
    sample.add({.name = "b", .is_board = true, .size = key_sample::wide_board + 1});
    found = judge_sample(sample, 0.2, "here");
    ASSERT_EQ(found.size(), 4U);
    EXPECT_EQ(found[0].weight, finding::level::note);
    EXPECT_THAT(found[1].text, HasSubstr("2 of 3 sampled entries are larger than 1 MiB; 'n:3'"));
    EXPECT_THAT(found[2].text, HasSubstr("'b' has 10000001 players"));
    EXPECT_THAT(found[3].text, HasSubstr("1 of 5 sampled keys should expire and do not; one is"));
}

TEST(cache_sample, the_share_of_hits_is_known_after_the_first_read) {
    EXPECT_FALSE(hit_ratio({}));
    EXPECT_FALSE(hit_ratio({{"keyspace_hits", "0"}, {"keyspace_misses", "0"}}));
    EXPECT_DOUBLE_EQ(hit_ratio({{"keyspace_hits", "30"}, {"keyspace_misses", "10"}}).value_or(0),
                     0.75);
}

TEST(top_frame, shows_the_share_of_hits_where_it_is_known) {
    const terminal plain;
    top_view view;
    EXPECT_THAT(draw(view, {100, 24}, plain)[1], testing::Not(HasSubstr("hits")));
    view.rates.hits = 0.987;
    EXPECT_THAT(draw(view, {100, 24}, plain)[1], HasSubstr("   hits 99 %"));
}

TEST(top_frame, keeps_its_columns_with_names_of_any_script) {
    top_view view;
    view.leases = {held("注文/票/長い名前です/とても長い名前", 1), held("plain", 2),
                   held("e\u0301te\u0301", 3), held("🚀🚀", 4)};
    const terminal plain;
    const auto lines = draw(view, {80, 24}, plain);
    ASSERT_EQ(lines.size(), 8U);
    for (std::size_t i = 4; i < lines.size(); ++i) {
        const auto bar = lines[i].find("━");
        ASSERT_NE(bar, std::string::npos) << lines[i];
        EXPECT_EQ(columns(lines[i].substr(0, bar)), columns(lines[3].substr(0, 18))) << lines[i];
        EXPECT_LE(columns(lines[i]), 80) << lines[i];
    }
}

TEST(top_frame, has_its_labels_at_the_same_place_from_the_first_picture_on) {
    const terminal plain;
    for (const bool counted : {true, false}) {
        top_view view;
        view.rates.from_counter = view.rates.expired_from_counter = counted;
        const std::string first = draw(view, {100, 24}, plain)[1];
        view.rates.acquired = 2.5;
        view.rates.handed_off = 0.0;
        view.rates.expired = 1.0;
        const std::string second = draw(view, {100, 24}, plain)[1];
        view.rates.at_least = true;
        const std::string third = draw(view, {100, 24}, plain)[1];
        EXPECT_THAT(third, HasSubstr("acquired ≥2.5/s"));
        for (const char* label : {"acquired", "handed off", "expired"}) {
            const auto place = [&](const std::string& line) {
                return columns(line.substr(0, line.find(label)));
            };
            EXPECT_EQ(place(first), place(second)) << label;
            EXPECT_EQ(place(first), place(third)) << label;
        }
        EXPECT_EQ(first.contains("seen"), !counted);
    }
}

TEST(top_frame, fits_the_screen_whatever_it_shows) {
    top_view view;
    view.engine = "redis://a-very-long-name-of-a-machine.example.com:6379/0?prefix=something";
    view.time = "12:00:00";
    for (int i = 0; i < 50; ++i) {
        view.leases.push_back(held("näme/" + std::string(static_cast<std::size_t>(i), 'x'), 1));
    }
    const terminal plain;
    for (const screen_size size :
         {screen_size{80, 24}, screen_size{120, 60}, screen_size{50, 12}}) {
        const auto lines = draw(view, size, plain);
        EXPECT_LE(lines.size(), static_cast<std::size_t>(size.rows));
        for (const std::string& line : lines) EXPECT_LE(columns(line), size.columns) << line;
    }
}

TEST(top_frame, puts_the_names_that_most_wait_for_first_and_draws_what_is_left) {
    top_view view;
    view.leases = {held("calm", 1), held("hot", 2, 3)};
    view.full = {{"calm", 10s}, {"hot", 20s}};
    const terminal plain;
    const auto lines = draw(view, {100, 24}, plain);
    ASSERT_EQ(lines.size(), 6U);
    EXPECT_TRUE(lines[4].starts_with("hot "));
    EXPECT_THAT(lines[4], HasSubstr(" ━━━━━━━━──────── 10.0 s"));
    EXPECT_THAT(lines[4], HasSubstr("report on web1 (7)"));
    EXPECT_THAT(lines[5], HasSubstr(" ━━━━━━━━━━━━━━━━ 10.0 s"));
}

}  // namespace
}  // namespace holdfast::app
