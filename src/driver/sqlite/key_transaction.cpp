// SPDX-License-Identifier: Apache-2.0
#include "driver/sqlite/key_transaction.hpp"

#include "core/command_keys.hpp"
#include "keyed/key_demand.hpp"
#include "runtime/fork_watch.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

namespace holdfast::sqlite {
namespace {

using keyed::demand;
using keyed::demand_of;
using sql::sentence;
using sql::value;

const sql::row_reader no_rows = [](const sql::row&) {};

}  // namespace

time_point database_clock::now() const noexcept {
    last_ = machine_.now();
    return last_;
}

wall_time database_clock::wall() const noexcept {
    const auto since = std::chrono::floor<std::chrono::microseconds>(last_.time_since_epoch());
    return wall_time(since + std::chrono::microseconds(ahead_));
}

void database_clock::wait_until(std::unique_lock<std::mutex>& held, std::condition_variable& cv,
                                time_point when) {
    machine_.wait_until(held, cv, when);
}

key_transaction::key_transaction(sqlite_options options, clock& time, entropy& chance)
    : clock_(time),
      chance_(chance),
      db_(std::make_unique<sqlite_connection>(std::move(options), time)),
      turn_(time),
      generation_(detail::fork_generation()) {}

// A child of fork() leaves its parent's connection where it is.
key_transaction::~key_transaction() {
    if (detail::fork_generation() != generation_) static_cast<void>(db_.release());
}

result<sql::turn::held> key_transaction::enter(time_point give_up) {
    if (detail::fork_generation() != generation_) {
        return fail(errc::invalid_argument,
                    "this is a child of the process that opened the database: open it again");
    }
    auto mine = turn_.enter(give_up);
    if (!mine || clock_.now() >= give_up) {
        return fail(errc::timed_out, "the time was over before the command was carried out");
    }
    if (const auto fit = db_->ready(give_up); !fit) return std::unexpected(fit.error());
    return std::move(*mine);
}

// The embedded engine tells time from its making on: one for each clock of the database.
void key_transaction::prepare_bench() {
    if (bench_ == nullptr || bench_ahead_ != db_->ahead()) {
        bench_.reset();
        bench_ahead_ = db_->ahead();
        database_time_ = std::make_unique<database_clock>(clock_, bench_ahead_);
        bench_ = make_memory_engine({.time = database_time_.get(), .chance = &chance_});
    }
    bench_->clear();
    keys_.clear();
}

result<bool> key_transaction::carry_out(std::span<const command> commands,
                                        std::span<result<reply>> replies, time_point give_up,
                                        const seen_versions* watched) {
    for (const command& c : commands) {
        if (demand_of(c) != demand::refused) continue;
        return fail(errc::unsupported,
                    fmt::format("{}: this engine keeps keys in a file, and has no such command",
                                c.args[0]));
    }
    auto mine = enter(give_up);
    if (!mine) return std::unexpected(std::move(mine.error()));
    if (auto begun = db_->begin(); !begun) return std::unexpected(std::move(begun.error()));
    prepare_bench();
    bool current = true;
    const auto done = [&]() -> result<void> {
        if (auto fit = load(commands); !fit) return fit;
        if (watched != nullptr) {
            for (const auto& [key, version] : *watched) {
                if (auto fit = load_key(key); !fit) return fit;
            }
            current = unchanged(*watched);
            if (!current) return {};
        }
        bench_->exchange(commands, replies, time_point::max());
        return put_back();
    }();
    if (!done || !current) {
        db_->roll_back();
        return done ? result<bool>(false) : std::unexpected(done.error());
    }
    if (auto kept = db_->commit(); !kept) return std::unexpected(std::move(kept.error()));
    sweep();
    return true;
}

result<void> key_transaction::load(std::span<const command> commands) {
    for (const command& c : commands) {
        if (demand_of(c) == demand::all_keys) return load_all();
    }
    for (const command& c : commands) {
        for (const std::string_view key : redis::key_words(c)) {
            if (auto done = load_key(key); !done) return done;
        }
    }
    return {};
}

result<void> key_transaction::load_all() {
    std::vector<std::string> names;
    const auto read = db_->run(sentence::all_keys, {},
                               [&](const sql::row& one) { names.emplace_back(one.text(0)); });
    if (!read) return std::unexpected(read.error());
    for (const std::string& name : names) {
        if (auto done = load_key(name); !done) return done;
    }
    return {};
}

result<void> key_transaction::load_key(std::string_view key) {
    if (keys_.contains(key)) return {};
    loaded found;
    const std::array<value, 1> values{key};
    const auto read = db_->run(sentence::load_key, values, [&](const sql::row& one) {
        found.before = key_image{std::string(one.text(0)), one.number(1)};
        found.version = one.number(2);
    });
    if (!read) return std::unexpected(read.error());
    if (found.before && !bench_->place(key, *found.before)) {
        return fail(errc::corrupt, fmt::format("what is stored under '{}' is damaged", key));
    }
    if (!bench_->image(key)) found = {};  // it had expired
    keys_.emplace(key, std::move(found));
    return {};
}

bool key_transaction::unchanged(const seen_versions& watched) const {
    return std::ranges::all_of(watched, [&](const auto& one) {
        const auto found = keys_.find(one.first);
        return found != keys_.end() && found->second.version == one.second;
    });
}

result<void> key_transaction::put_back() {
    for (const std::string& name : bench_->key_names()) {
        if (keys_.contains(name)) continue;
        // A command that works on all keys has loaded all that exist: this one is new.
        return fail(
            errc::invalid_argument,
            fmt::format("a script wrote '{}', which is not among its KEYS; nothing was done",
                        name));
    }
    for (const auto& [key, was] : keys_) {
        const auto now = bench_->image(key);
        if (now == was.before) continue;
        const std::int64_t version = std::max(was.version + 1, db_->moment());
        const std::array<value, 4> put{key, now ? std::string_view(now->bytes) : std::string_view(),
                                       now ? now->expires_ms : -1, version};
        const auto done = now ? db_->run(sentence::put_key, put, no_rows)
                              : db_->run(sentence::drop_key, std::span(put).first(1), no_rows);
        if (!done) return std::unexpected(done.error());
    }
    return {};
}

result<void> key_transaction::see(std::span<const std::string_view> keys, seen_versions& into,
                                  time_point give_up) {
    auto mine = enter(give_up);
    if (!mine) return std::unexpected(std::move(mine.error()));
    prepare_bench();
    for (const std::string_view key : keys) {
        if (auto done = load_key(key); !done) return done;
        into.try_emplace(std::string(key), keys_.find(key)->second.version);
    }
    return {};
}

// Now and then, a few: what has expired is never seen again, but its row is still there.
void key_transaction::sweep() {
    constexpr std::int64_t pause = 5'000'000;
    constexpr std::int64_t most = 1000;
    const std::int64_t now = db_->moment();
    if (now - swept_ < pause) return;
    swept_ = now;
    const std::array<value, 2> values{now / 1000, most};
    static_cast<void>(db_->run(sentence::sweep_keys, values, no_rows));
}

}  // namespace holdfast::sqlite
