// SPDX-License-Identifier: Apache-2.0
//
// Random histories of readers, writers and permits on the embedded engine in virtual time: every
// answer and every handoff must be the model's.
#include "lease_model/lease_model.hpp"
#include "driver/memory/memory_engine.hpp"
#include "lease/commands/command_lease_store.hpp"

#include <holdfast/entropy.hpp>
#include <holdfast/virtual_clock.hpp>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <map>

namespace holdfast::test {
namespace {

using namespace std::chrono_literals;
using kind = lease_mode::kind;
using said = lease_model::said;

// All moments of the history are whole tens of milliseconds, and whatever runs out does so five
// behind one: nothing depends on which of two things at the same instant comes first.
constexpr std::int64_t place_ms = 2995;
constexpr std::array<std::int64_t, 3> ttls{305, 705, 1505};
constexpr int parties = 7;
constexpr std::uint32_t limit = 5;

/// Which kinds a history is made of.
struct history_kind {
    std::string name;
    std::vector<kind> kinds;
};

void PrintTo(const history_kind& one, std::ostream* out) {
    *out << one.name;
}

/// One that acquires, looks, renews, gives back, and sometimes dies.
struct actor {
    owner_token owner;
    enum class state : std::uint8_t { idle, waiting, holding } now = state::idle;
    lease_mode mode = {};
    queue_ticket ticket = {};
    fencing_token fence = {};
    std::int64_t ttl = 0;
};

class history {
public:
    history(const history_kind& of, std::uint64_t seed) : kinds_(of.kinds), chance_(seed) {
        for (int i = 0; i < parties; ++i) actors_.push_back({owner_token::draw(chance_)});
        store_.on_push([this](const lease_push& push) {
            const auto* given = std::get_if<handed_off>(&push);
            // Without a ttl it is only the advice to ask again.
            if (given != nullptr && given->ttl > duration::zero()) heard_.push_back(*given);
        });
    }

    /// Empty, or what differed.
    std::string step() {
        time_.advance(std::chrono::milliseconds(draw_pause()));
        now_ =
            std::chrono::floor<std::chrono::milliseconds>(time_.now().time_since_epoch()).count();
        const int who = static_cast<int>(below(parties));
        actor& me = actors_[static_cast<std::size_t>(who)];
        if (has(kind::permit) && below(60) == 0) return resize();
        switch (me.now) {
            case actor::state::idle: return begin(who, me);
            case actor::state::waiting: return look_or_leave(who, me);
            case actor::state::holding: return go_on(who, me);
        }
        std::abort();
    }

    [[nodiscard]] std::int64_t now() const { return now_; }
    std::map<said, int> answers;
    int handed_off_count = 0;
    int together = 0;  ///< Most holders at once.

private:
    std::uint64_t below(std::uint64_t n) { return chance_.below(n); }
    [[nodiscard]] bool has(kind k) const { return std::ranges::find(kinds_, k) != kinds_.end(); }

    std::int64_t draw_pause() {
        const std::uint64_t sort = below(100);
        if (sort < 45) return 0;
        if (sort < 85) return static_cast<std::int64_t>(10 * below(12));
        if (sort < 98) return static_cast<std::int64_t>(10 * below(90));
        return static_cast<std::int64_t>(3000 + 10 * below(200));
    }

    lease_mode draw_mode() {
        lease_mode mode{.type = kinds_[below(kinds_.size())]};
        if (mode.type == kind::permit) {
            mode.permits = static_cast<std::uint32_t>(1 + (below(3) == 0 ? below(limit) : 0));
            mode.limit = limit;
        }
        return mode;
    }

    std::string begin(int who, actor& me) {
        me.owner = owner_token::draw(chance_);
        me.mode = draw_mode();
        me.ttl = ttls[below(ttls.size())];
        return ask(who, me, me.mode, below(3) != 0, false);
    }

    std::string look_or_leave(int who, actor& me) {
        // One whose place ran out looks again; whether the engine has noticed is its own affair.
        if (below(6) == 0 && model_.has_place(now_, who)) {
            return compare(who, "leave", send(ask::leave{job_, me.owner, me.mode}),
                           model_.leave(now_, who));
        }
        return ask(who, me, me.mode, true, false);
    }

    std::string go_on(int who, actor& me) {
        const std::uint64_t sort = below(10);
        if (sort < 4) {
            return compare(who, "release", send(ask::release{job_, me.owner, me.mode}),
                           model_.release(now_, who));
        }
        if (sort < 7) {
            return compare(who, "renew",
                           send(ask::renew{job_, me.owner, me.mode,
                                           std::chrono::milliseconds(me.ttl), me.fence}),
                           model_.renew(now_, who, me.ttl));
        }
        if (sort == 7 && me.mode.type == kind::exclusive && has(kind::shared)) {
            me.mode = {.type = kind::shared};
            return ask(who, me, me.mode, false, true);
        }
        if (sort == 8) return ask(who, me, draw_mode(), false, false);  // up, down, or another kind
        return ask(who, me, me.mode, below(2) == 0, false);
    }

    std::string resize() {
        const auto permits = static_cast<std::uint32_t>(1 + below(2 * limit));
        const auto done = store_.resize(job_, permits, time_.now() + 1s);
        if (!done) return to_string(done.error());
        return compare_told("resize", model_.resize(now_, permits).told);
    }

    std::string ask(int who, actor& me, const lease_mode& mode, bool waits, bool turns) {
        const bool had = me.now == actor::state::holding;
        const fencing_token before = latest_;
        const auto reply = send(
            ask::acquire{.name = job_,
                         .owner = me.owner,
                         .mode = mode,
                         .ttl = std::chrono::milliseconds(me.ttl),
                         .otherwise = waits ? ask::when_busy::join_queue : ask::when_busy::refuse,
                         .ticket = me.ticket,
                         .turns = turns ? me.fence : fencing_token{}});
        const auto expected = model_.acquire(now_, {who, mode, me.ttl, waits, turns});
        auto differs = compare(who, "acquire", reply, expected);
        if (!differs.empty()) return differs;
        if (expected.answer == said::granted) {
            const auto fence = std::get<answer::granted>(*reply).fence;
            if (fence != me.fence || !had) {
                if (fence <= before) return fmt::format("fence {} again", fence.value);
                latest_ = std::max(latest_, fence);
            }
            me.fence = fence;
            me.mode = mode;
            me.now = actor::state::holding;
            me.ticket = {};
        } else if (expected.answer == said::busy && waits) {
            me.now = actor::state::waiting;
            me.ticket = std::get<answer::busy>(*reply).ticket;
            me.mode = mode;
        } else if (expected.answer != said::refused || !had) {
            return give_up(who, me);
        }
        return {};
    }

    // As a client does that gets an answer which ends its wait. One whose place ran out just goes.
    std::string give_up(int who, actor& me) {
        if (me.now == actor::state::waiting && model_.has_place(now_, who)) {
            return compare(who, "leave", send(ask::leave{job_, me.owner, me.mode}),
                           model_.leave(now_, who));
        }
        model_.vanish(who);
        forget(me);
        return {};
    }

    static void forget(actor& me) {
        me.now = actor::state::idle;
        me.ticket = {};
        me.fence = {};
    }

    result<lease_reply> send(const lease_request& request) {
        result<lease_reply> reply;
        store_.exchange({&request, 1}, {&reply, 1}, time_.now() + 1s);
        return reply;
    }

    static said meaning(const result<lease_reply>& reply) {
        if (!reply) {
            EXPECT_EQ(reply.error(), errc::invalid_argument) << to_string(reply.error());
            return said::refused;
        }
        constexpr std::array all{said::lost, said::granted, said::busy, said::renewed,
                                 said::released};
        return all[reply->index()];
    }

    std::string compare(int who, std::string_view what, const result<lease_reply>& reply,
                        const lease_model::outcome& expected) {
        const said got = meaning(reply);
        ++answers[got];
        if (got != expected.answer) {
            return fmt::format("{} by {}: the engine says {}, the model {}", what, who,
                               static_cast<int>(got), static_cast<int>(expected.answer));
        }
        actor& me = actors_[static_cast<std::size_t>(who)];
        if (got == said::released || got == said::lost) forget(me);
        return compare_told(what, expected.told);
    }

    std::string compare_told(std::string_view what, const std::vector<int>& told) {
        std::vector<int> heard;
        for (const handed_off& given : heard_) {
            const auto at = std::ranges::find(actors_, given.owner, &actor::owner);
            heard.push_back(static_cast<int>(at - actors_.begin()));
            if (given.fence <= latest_) return "a handoff with an old fence";
            latest_ = given.fence;
            if (at != actors_.end()) at->fence = given.fence;
        }
        heard_.clear();
        if (heard != told) {
            return fmt::format("{}: told {}, the model tells {}", what, fmt::join(heard, " "),
                               fmt::join(told, " "));
        }
        settle(told);
        return compare_holders(what);
    }

    void settle(const std::vector<int>& told) {
        for (const int who : told) {
            actor& lucky = actors_[static_cast<std::size_t>(who)];
            lucky.now = actor::state::holding;
            lucky.ticket = {};
            ++handed_off_count;
        }
    }

    // What an operator sees; and what must never be, whatever the model thinks.
    std::string compare_holders(std::string_view what) {
        const auto& expected = model_.holders(now_);
        together = std::max(together, static_cast<int>(expected.size()));
        if (below(4) != 0) return {};
        const auto listed = store_.list("job", time_.now() + 1s).value();
        const std::size_t seen = listed.empty() ? 0 : listed[0].holders.size();
        if (seen != expected.size()) {
            return fmt::format("{}: {} hold it, the model says {}", what, seen, expected.size());
        }
        if (seen == 0) return {};
        if (listed[0].mode.type != expected[0].mode.type) return "listed in another mode";
        if (listed[0].mode.type == kind::permit &&
            listed[0].mode.permits != model_.permits_held()) {
            return "other permits are listed";
        }
        return {};
    }

    const std::vector<kind> kinds_;
    seeded_entropy chance_;
    virtual_clock time_;
    std::shared_ptr<command_engine> engine_ =
        make_memory_engine({.time = &time_, .chance = &chance_});
    std::vector<handed_off> heard_;
    command_lease_store store_{engine_, chance_, {.place = std::chrono::milliseconds(place_ms)}};
    lease_model model_{place_ms};
    const lock_name job_ = *lock_name::make("job");
    std::vector<actor> actors_;
    fencing_token latest_;
    std::int64_t now_ = 0;
};

std::uint64_t steps() {
    const char* wanted = std::getenv("HOLDFAST_MODEL_OPERATIONS");
    return wanted == nullptr ? 50'000 : std::strtoull(wanted, nullptr, 10);
}

class lease_history : public testing::TestWithParam<history_kind> {};

TEST_P(lease_history, is_the_same_on_the_embedded_engine_and_in_the_model) {
    for (const std::uint64_t seed : {1U, 2U, 3U, 4U}) {
        history run(GetParam(), seed);
        for (std::uint64_t i = 0; i < steps() / 4; ++i) {
            ASSERT_EQ(run.step(), "") << GetParam().name << ": seed " << seed << " step " << i
                                      << " at " << run.now() << " ms";
        }
        // A history in which nothing happens proves little.
        EXPECT_GT(run.answers[said::granted], 100);
        EXPECT_GT(run.answers[said::busy], 100);
        EXPECT_GT(run.answers[said::lost], 20);
        EXPECT_GT(run.answers[said::refused], 20);
        EXPECT_GT(run.handed_off_count, 100);
        EXPECT_GE(run.together, 3);
    }
}

INSTANTIATE_TEST_SUITE_P(
    of, lease_history,
    testing::Values(history_kind{"readers_and_writers",
                                 {kind::shared, kind::exclusive, kind::shared}},
                    history_kind{"permits", {kind::permit}},
                    history_kind{"all_kinds_on_one_name",
                                 {kind::exclusive, kind::shared, kind::permit, kind::permit}}),
    [](const auto& one) { return one.param.name; });

}  // namespace
}  // namespace holdfast::test
