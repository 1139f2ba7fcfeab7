// SPDX-License-Identifier: Apache-2.0
#include "cache/cache_race.hpp"

#include <algorithm>
#include <optional>

namespace holdfast::test {
namespace {

using namespace std::chrono_literals;
using detail::cache_entries;
using detail::claim_mode;
using detail::claimed;
using detail::entry_kind;
using detail::read_entry;

constexpr duration lease_time = 100ms;
constexpr duration fresh_time = 300ms;
constexpr duration stale_time = 300ms;
constexpr duration note_time = 500ms;

/// The trips, with one of them wrong.
class buggy_entries final : public cache_entries {
public:
    buggy_entries(command_access where, race_bug bug)
        : cache_entries(std::move(where), "c:", "0000000000000001"), bug_(bug) {}

    result<std::string> look_or_claim(std::string_view key, std::string_view token, duration lease,
                                      time_point give_up) override {
        auto seen = cache_entries::look_or_claim(key, token, lease, give_up);
        const std::string name = name_of(key);
        if (bug_ == race_bug::lease_without_expiry && seen && read_entry(*seen)->token == token) {
            const auto persist = words("PERSIST", name);
            static_cast<void>(where_.engine()->execute(persist, give_up));
        }
        if (bug_ == race_bug::everybody_loads && seen &&
            read_entry(*seen)->kind == entry_kind::loading) {
            const auto mine = detail::lease_entry(token);
            return std::string(mine.data(), mine.size());
        }
        return seen;
    }
    result<detail::stored> store(std::string_view key, std::string_view token,
                                 const detail::entry_value& what, time_point give_up) override {
        const bool careless = bug_ == race_bug::store_ignores_the_lease;
        return cache_entries::store(key, careless ? std::string_view() : token, what, give_up);
    }
    result<bool> invalidate(std::string_view key, time_point give_up) override {
        if (bug_ == race_bug::invalidation_keeps_the_lease) {
            const auto seen = look(key, give_up);
            if (seen && !seen->empty() && read_entry(*seen)->kind == entry_kind::loading)
                return true;
        }
        return cache_entries::invalidate(key, give_up);
    }

private:
    race_bug bug_;
};

}  // namespace

struct cache_race::world {
    explicit world(std::uint64_t seed, race_bug bug)
        : chance(seed),
          engine(make_memory_engine({.time = &time, .chance = &chance})),
          where(engine, chance),
          entries(where, bug),
          pending(where, "c:") {}

    [[nodiscard]] time_point give_up() { return time.now() + 1s; }

    virtual_clock time;
    seeded_entropy chance;
    std::shared_ptr<memory_engine> engine;
    command_access where;
    buggy_entries entries;
    detail::pending_invalidations pending;
    detail::token_source tokens{1};
    std::map<std::string, int> database;
    /// Whose lease to load a key is valid, as the model sees it; and until when.
    std::map<std::string, std::pair<const actor*, time_point>> loading;
    race_report* report = nullptr;
    race_bug bug = race_bug::none;
};

struct cache_race::actor {
    enum class step : std::uint8_t {
        look,
        claim,
        load,
        store,
        abandon,  // a reader
        note,
        write,
        invalidate,
        remove_note,
        done,  // a writer
    };
    std::string key;
    step next = step::look;
    std::array<char, detail::load_token_bytes> token{};
    int loaded = 0;
    int looks = 0;
    std::optional<std::string> note;
    bool wrote = false;

    void take(world& w) {
        switch (next) {
            case step::look: look(w); break;
            case step::claim: claim(w); break;
            case step::load: load(w); break;
            case step::store: store(w); break;
            case step::abandon:
                static_cast<void>(w.entries.abandon(key, detail::view_of(token), w.give_up()));
                forget(w);
                next = step::done;
                break;
            case step::note: make_note(w); break;
            case step::write:
                w.database[key] = static_cast<int>(w.chance.below(1'000'000));
                wrote = true;
                next = w.bug == race_bug::delete_before_the_write ? step::remove_note
                                                                  : step::invalidate;
                break;
            case step::invalidate: invalidate(w); break;
            case step::remove_note:
                if (note) static_cast<void>(w.pending.remove(*note, w.give_up()));
                next = step::done;
                break;
            case step::done: break;
        }
    }

private:
    void look(world& w) {
        token = w.tokens.next();
        const auto seen =
            w.entries.look_or_claim(key, detail::view_of(token), lease_time, w.give_up());
        const auto entry = read_entry(*seen);
        if (entry->kind == entry_kind::loading) {
            const bool mine = entry->token == detail::view_of(token);
            if (mine) lease(w);
            next = mine ? step::load : ++looks < 4 ? step::look : step::done;
            return;
        }
        next = w.chance.below(4) == 0 ? step::done : step::claim;
    }
    void claim(world& w) {
        const auto mode = w.chance.below(3) == 0 ? claim_mode::early : claim_mode::stale;
        const auto got =
            w.entries.claim(key, detail::view_of(token), lease_time, mode, w.give_up());
        next = got->what == claimed::state::mine ? step::load : step::done;
        if (next == step::load) lease(w);
    }
    void lease(world& w) {
        const auto held = w.loading.find(key);
        if (held != w.loading.end() && held->second.second > w.time.now()) ++w.report->overlapping;
        w.loading[key] = {this, w.time.now() + lease_time};
    }
    void forget(world& w) {
        const auto held = w.loading.find(key);
        if (held != w.loading.end() && held->second.first == this) w.loading.erase(held);
    }
    void load(world& w) {
        ++w.report->loads;
        loaded = w.database[key];
        next = w.chance.below(10) == 0 ? step::abandon : step::store;
    }
    void store(world& w) {
        const std::string text = std::to_string(loaded);
        const auto kept = w.entries.store(key, detail::view_of(token),
                                          {.kind = entry_kind::value,
                                           .value = text,
                                           .fresh = fresh_time,
                                           .life = fresh_time + stale_time,
                                           .took = 10ms},
                                          w.give_up());
        if (!kept->kept) ++w.report->refused;
        forget(w);
        next = step::done;
    }
    void make_note(world& w) {
        if (w.bug != race_bug::no_note) note = *w.pending.note(key, note_time, w.give_up());
        next = w.bug == race_bug::delete_before_the_write ? step::invalidate : step::write;
    }
    void invalidate(world& w) {
        static_cast<void>(w.entries.invalidate(key, w.give_up()));
        w.loading.erase(key);
        next = wrote ? step::remove_note : step::write;
    }
};

cache_race::cache_race(race_bug bug) : bug_(bug) {}
cache_race::~cache_race() = default;

race_report cache_race::play(std::uint64_t first, std::uint64_t count,
                             const std::function<bool()>& until) {
    race_report report;
    for (std::uint64_t seed = first; seed < first + count && !until(); ++seed) {
        const auto before = report.violations();
        play_one(seed, report);
        ++report.rounds;
        if (before == 0 && report.violations() > 0) report.first_bad_seed = seed;
    }
    return report;
}

void cache_race::play_one(std::uint64_t seed, race_report& report) {
    world w(seed, bug_);
    w.report = &report;
    w.bug = bug_;
    std::vector<std::unique_ptr<actor>> alive;
    const auto readers = 2 + w.chance.below(4);
    const auto writers = w.chance.below(4);
    for (std::uint64_t i = 0; i < readers + writers; ++i) {
        alive.push_back(std::make_unique<actor>());
        alive.back()->key = w.chance.below(3) == 0 ? "b" : "a";
        if (i >= readers) alive.back()->next = actor::step::note;
    }
    while (!alive.empty()) {
        const auto chosen = w.chance.below(alive.size());
        actor& one = *alive[chosen];
        const bool dies = w.chance.below(25) == 0;
        if (dies) {
            ++report.deaths;
        } else {
            one.take(w);
        }
        // Long enough that leases and values expire, but not before a write is done.
        if (w.chance.below(6) == 0) w.time.advance(std::chrono::milliseconds(w.chance.below(60)));
        if (dies || one.next == actor::step::done) {
            alive.erase(alive.begin() + static_cast<std::ptrdiff_t>(chosen));
        }
    }
    // Every write and every load has ended; another process does what was left.
    w.time.advance(note_time);
    const auto due = w.pending.take(note_time, w.give_up());
    for (const auto& note : *due) {
        static_cast<void>(
            w.entries.invalidate(detail::pending_invalidations::key_of(note), w.give_up()));
        static_cast<void>(w.pending.remove(note, w.give_up()));
    }
    for (const std::string key : {"a", "b"}) {
        const auto name = w.entries.name_of(key);
        const auto left = w.engine->execute(words("PTTL", name), w.give_up());
        if (left->number() == -1) ++report.eternal;
        const auto seen = w.entries.look(key, w.give_up());
        const auto entry = read_entry(*seen);
        if (!entry || entry->kind != entry_kind::value) continue;
        if (entry->value != std::to_string(w.database[key])) ++report.stale;
    }
}

}  // namespace holdfast::test
