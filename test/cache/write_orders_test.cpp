// SPDX-License-Identifier: Apache-2.0
//
// Which of the four ways to write a source and its cache leave an old value behind: every
// interleaving of the steps is played, on the embedded engine, in virtual time.
#include "cache/cache_entries.hpp"
#include "driver/memory/memory_engine.hpp"

#include <holdfast/virtual_clock.hpp>

#include <gmock/gmock.h>

#include <functional>
#include <string>
#include <vector>

namespace holdfast::test {
namespace {

using namespace std::chrono_literals;
using detail::cache_entries;
using detail::entry_kind;

/// A source of one value, and its cache.
struct place {
    virtual_clock time;
    std::shared_ptr<memory_engine> engine = make_memory_engine({.time = &time});
    cache_entries entries{command_access(engine), "c:", "0000000000000001"};
    detail::token_source tokens{1};
    std::string database = "old";

    [[nodiscard]] time_point soon() { return time.now() + 1s; }
    void set(const std::string& value) {
        static_cast<void>(engine->execute(words("SET", "plain", value), soon()));
    }
    void del() { static_cast<void>(engine->execute(words("DEL", "plain"), soon())); }
    std::string get() { return engine->execute(words("GET", "plain"), soon())->text(); }
};

/// One that does its steps in their order, between those of others.
struct role {
    std::string name;
    std::vector<std::pair<std::string, std::function<void(place&)>>> steps;
};

using cast = std::function<std::vector<role>()>;

/// Plays one interleaving; what is cached must be nothing or what the source has.
bool consistent(const cast& who, const std::vector<std::size_t>& order, std::string& story,
                const std::function<std::string(place&)>& cached) {
    place p;
    auto roles = who();
    std::vector<std::size_t> at(roles.size());
    for (const std::size_t turn : order) {
        auto& [text, act] = roles[turn].steps[at[turn]++];
        act(p);
        story += (story.empty() ? "" : "; ") + roles[turn].name + ": " + text;
    }
    const std::string seen = cached(p);
    return seen.empty() || seen == p.database;
}

/// The stories of all interleavings that leave something else cached than the source has.
std::vector<std::string> failing(const cast& who,
                                 const std::function<std::string(place&)>& cached) {
    const auto roles = who();
    std::vector<std::size_t> order;
    for (std::size_t i = 0; i < roles.size(); ++i) {
        order.insert(order.end(), roles[i].steps.size(), i);
    }
    std::vector<std::string> found;
    do {
        std::string story;
        if (!consistent(who, order, story, cached)) found.push_back(story);
    } while (std::ranges::next_permutation(order).found);
    return found;
}

std::string plain(place& p) {
    return p.get();
}

role reader() {
    auto missed = std::make_shared<bool>(false);
    auto loaded = std::make_shared<std::string>();
    return {"R",
            {{"look", [=](place& p) { *missed = p.get().empty(); }},
             {"load",
              [=](place& p) {
                  if (*missed) *loaded = p.database;
              }},
             {"store", [=](place& p) {
                  if (*missed) p.set(*loaded);
              }}}};
}

role writer(const std::string& name, const std::string& value, const std::string& order) {
    role made{name, {}};
    const auto write = [value](place& p) { p.database = value; };
    const auto set = [value](place& p) { p.set(value); };
    const auto del = [](place& p) { p.del(); };
    if (order == "cache, source") made.steps = {{"set cache", set}, {"write source", write}};
    if (order == "source, cache") made.steps = {{"write source", write}, {"set cache", set}};
    if (order == "delete, source") made.steps = {{"delete", del}, {"write source", write}};
    if (order == "source, delete") made.steps = {{"write source", write}, {"delete", del}};
    return made;
}

TEST(write_orders, updating_the_cache_first_fails_with_two_writers) {
    const auto bad = failing(
        [] {
            return std::vector{writer("A", "a", "cache, source"),
                               writer("B", "b", "cache, source")};
        },
        plain);
    EXPECT_THAT(bad,
                testing::Contains("A: set cache; B: set cache; B: write source; A: write source"));
}

TEST(write_orders, updating_the_source_and_then_the_cache_fails_with_two_writers) {
    const auto bad = failing(
        [] {
            return std::vector{writer("A", "a", "source, cache"),
                               writer("B", "b", "source, cache")};
        },
        plain);
    EXPECT_THAT(bad,
                testing::Contains("A: write source; B: write source; B: set cache; A: set cache"));
}

TEST(write_orders, deleting_first_fails_with_one_reader) {
    const auto bad =
        failing([] { return std::vector{reader(), writer("W", "new", "delete, source")}; }, plain);
    EXPECT_THAT(bad, testing::Contains("W: delete; R: look; R: load; R: store; W: write source"));
    EXPECT_GE(bad.size(), 4U);
}

TEST(write_orders, deleting_last_fails_when_a_load_spans_the_whole_write) {
    const auto bad =
        failing([] { return std::vector{reader(), writer("W", "new", "source, delete")}; }, plain);
    // One only, which is why this order is the best of the four.
    EXPECT_THAT(bad,
                testing::ElementsAre("R: look; R: load; W: write source; W: delete; R: store"));
}

// The same order with the lease in the entry.

role leasing_reader(const std::string& name) {
    struct memory {
        bool mine = false;
        std::array<char, detail::load_token_bytes> token{};
        std::string loaded;
    };
    auto kept = std::make_shared<memory>();
    return {name,
            {{"look",
              [=](place& p) {
                  kept->token = p.tokens.next();
                  const auto seen =
                      p.entries.look_or_claim("k", detail::view_of(kept->token), 10s, p.soon());
                  kept->mine = detail::read_entry(*seen)->token == detail::view_of(kept->token);
              }},
             {"load",
              [=](place& p) {
                  if (kept->mine) kept->loaded = p.database;
              }},
             {"store", [=](place& p) {
                  if (!kept->mine) return;
                  static_cast<void>(p.entries.store("k", detail::view_of(kept->token),
                                                    {.kind = entry_kind::value,
                                                     .value = kept->loaded,
                                                     .fresh = 10s,
                                                     .life = 10s,
                                                     .took = 0s},
                                                    p.soon()));
              }}}};
}

role leasing_writer(const std::string& name, const std::string& value) {
    return {name,
            {{"write source", [value](place& p) { p.database = value; }},
             {"delete", [](place& p) { static_cast<void>(p.entries.invalidate("k", p.soon())); }}}};
}

TEST(write_orders, deleting_last_with_a_lease_in_the_entry_never_fails) {
    const auto bad = failing(
        [] {
            return std::vector{leasing_reader("R"), leasing_reader("S"), leasing_writer("A", "a"),
                               leasing_writer("B", "b")};
        },
        [](place& p) {
            const auto entry = p.entries.look("k", p.soon());
            const auto seen = detail::read_entry(*entry);
            if (!seen || seen->kind == entry_kind::loading) return std::string();
            return std::string(seen->value);
        });
    EXPECT_THAT(bad, testing::IsEmpty());
}

}  // namespace
}  // namespace holdfast::test
