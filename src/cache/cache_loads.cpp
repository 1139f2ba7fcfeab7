// SPDX-License-Identifier: Apache-2.0
//
// Who has the lease loads: here, or in the background. What it loads is stored under its token.
#include "cache/cache_core.hpp"
#include "command/script_call.hpp"
#include "core/validity.hpp"

#include <fmt/format.h>

#include <exception>
#include <utility>

namespace holdfast::detail {
namespace {

load_result value_in(const std::string& entry) {
    const auto seen = read_entry(entry);
    if (seen->kind == entry_kind::absent) return std::nullopt;
    return std::string(seen->value);
}

bool has_value(const std::string& entry) {
    const auto seen = read_entry(entry);
    return seen && seen->kind != entry_kind::loading;
}

}  // namespace

load_result cache_core::run(std::string_view key, const byte_loader& load) {
    counted_.loads.fetch_add(1, std::memory_order_relaxed);
    load_result loaded;
    try {
        loaded = load(key);
    } catch (const std::exception& e) {
        loaded =
            fail(errc::unavailable, fmt::format("the loader of '{}' threw: {}", key, e.what()));
    } catch (...) {
        loaded = fail(errc::unavailable, fmt::format("the loader of '{}' threw", key));
    }
    if (loaded && *loaded && (*loaded)->size() > options_.max_value_bytes) {
        return fail(errc::invalid_argument,
                    fmt::format("the value of '{}' has {} bytes: at most {} are cached", key,
                                (*loaded)->size(), options_.max_value_bytes));
    }
    if (loaded) {
        source_.succeeded();
    } else {
        counted_.failed_loads.fetch_add(1, std::memory_order_relaxed);
        source_.failed(now());
    }
    return loaded;
}

cache_core::step cache_core::claim_and_load(std::string_view key, std::string_view token,
                                            claim_mode mode, const byte_loader& load) {
    auto got = entries_.claim(key, token, options_.lease, mode, give_up());
    if (!answered(got)) return load_while_away(key, load, got.error());
    if (!got) return std::unexpected(std::move(got.error()));
    learn_time(got->server_us);
    switch (got->what) {
        case claimed::state::fresh:
            counted_.hits.fetch_add(1, std::memory_order_relaxed);
            return value_in(got->entry);
        case claimed::state::mine: {
            const bool serve = options_.when_stale == stale_policy::serve;
            if (serve && has_value(got->entry) && refresh_in_background(key, token, got->entry)) {
                counted_.stale_hits.fetch_add(1, std::memory_order_relaxed);
                return value_in(got->entry);
            }
            return load_and_store(key, token, load, std::move(got->entry));
        }
        case claimed::state::others: break;
    }
    if (!has_value(got->entry)) return std::nullopt;
    // Refreshed early, it is still fresh.
    if (mode == claim_mode::early || options_.when_stale == stale_policy::serve) {
        counted_.stale_hits.fetch_add(1, std::memory_order_relaxed);
        return value_in(got->entry);
    }
    return std::nullopt;
}

bool cache_core::refresh_in_background(std::string_view key, std::string_view token,
                                       const std::string& old) {
    if (!background_) return false;
    return workers_->add([this, key = std::string(key), token = std::string(token), old] {
        static_cast<void>(load_and_store(key, token, background_, old));
    });
}

load_result cache_core::load_and_store(std::string_view key, std::string_view token,
                                       const byte_loader& load, std::string old) {
    const auto flight = flights_.begin(key, token);
    load_result outcome;
    if (!source_.allows(now())) {
        outcome = failed_load(
            key, token,
            {errc::unavailable, fmt::format("the source of '{}' failed lately: it is not asked "
                                            "before its breaker is half open",
                                            key)},
            old);
    } else {
        const time_point begun = now();
        outcome = run(key, load);
        const duration took = now() - begun;
        if (outcome) {
            keep(key, token, outcome, took);
        } else {
            outcome = failed_load(key, token, std::move(outcome.error()), old);
        }
    }
    flights_.end(key, flight, outcome);
    return outcome;
}

load_result cache_core::failed_load(std::string_view key, std::string_view token, error why,
                                    const std::string& old) {
    static_cast<void>(answered(entries_.abandon(key, token, give_up())));
    if (options_.on_failure == failure_policy::fail || old.empty() || !has_value(old)) {
        return std::unexpected(std::move(why));
    }
    counted_.stale_hits.fetch_add(1, std::memory_order_relaxed);
    return value_in(old);
}

void cache_core::keep(std::string_view key, std::string_view token, const load_result& loaded,
                      duration took) {
    const bool present = loaded->has_value();
    const auto spread = static_cast<std::uint64_t>(options_.jitter.count()) + 1;
    const duration jitter(static_cast<std::int64_t>(where_.chance().below(spread)));
    const duration fresh = present ? options_.fresh + jitter : options_.absent;
    const entry_value what{.kind = present ? entry_kind::value : entry_kind::absent,
                           .value = present ? std::string_view(**loaded) : std::string_view(),
                           .fresh = fresh,
                           .life = fresh + (present ? options_.stale : duration::zero()),
                           .took = took};
    // The server tells of this write too, and that would drop the copy: the next read makes one.
    const bool told = tracking_.load(std::memory_order_relaxed);
    const std::uint64_t local_mark = told ? UINT64_MAX : copy_mark(key);
    const auto kept = entries_.store(key, token, what, give_up());
    if (!answered(kept) || !kept) return;  // the lease runs out by itself
    learn_time(kept->server_us);
    if (!kept->kept) {
        counted_.refused_stores.fetch_add(1, std::memory_order_relaxed);
        return;
    }
    std::uint32_t tag = 0;
    auto& warm = warm_slot(key, tag);
    warm.store(tag, std::memory_order_relaxed);
    local_.put(key, what.value, !present, now(), local_mark);
}

// The engine is away. A copy that is not too old is answered; else the source is asked, by one
// caller for each key and by so many in a second.
load_result cache_core::load_while_away(std::string_view key, const byte_loader& load,
                                        const error& why) {
    std::optional<std::optional<std::string>> copy;
    const auto read = [](void* to, std::string_view value, bool absent) {
        auto& out = *static_cast<std::optional<std::optional<std::string>>*>(to);
        out.emplace(absent ? std::nullopt : std::optional<std::string>(value));
    };
    if (local_.find(key, now() - options_.away_stale, read, &copy)) {
        counted_.stale_hits.fetch_add(1, std::memory_order_relaxed);
        return *std::move(copy);
    }
    bool first = false;
    const auto flight = flights_.join(key, first);
    if (!first) {
        auto landed = flight->wait(where_.engine()->time(), later(now(), options_.wait));
        if (landed) return *std::move(landed);
        return fail(errc::timed_out, fmt::format("'{}' is being loaded by another caller, and was "
                                                 "not there in time",
                                                 key));
    }
    load_result outcome;
    if (!away_.take(now())) {
        counted_.away_refused.fetch_add(1, std::memory_order_relaxed);
        outcome = fail(errc::unavailable,
                       fmt::format("the cache is away ({}), and the limit of {} loads a second is "
                                   "reached",
                                   why.detail, options_.away_loads_per_second));
    } else if (!source_.allows(now())) {
        outcome = fail(errc::unavailable, "the cache is away, and its source failed lately");
    } else {
        counted_.away_loads.fetch_add(1, std::memory_order_relaxed);
        const std::uint64_t mark = local_.mark(key);
        const time_point asked = now();  // what the source says is no younger than the question
        outcome = run(key, load);
        if (outcome) local_.put(key, outcome->value_or(""), !outcome->has_value(), asked, mark);
    }
    flights_.end(key, flight, outcome);
    return outcome;
}

load_result cache_core::refresh(std::string_view key, const byte_loader& load) {
    if (auto fit = check(key); !fit) return std::unexpected(std::move(fit.error()));
    listen();
    const auto token = tokens_.next();
    if (!engine_.allows(now())) {
        return load_while_away(key, load, {errc::unavailable, "the engine is away"});
    }
    auto got = entries_.claim(key, view_of(token), options_.lease, claim_mode::force, give_up());
    if (!answered(got)) return load_while_away(key, load, got.error());
    if (!got) return std::unexpected(std::move(got.error()));
    learn_time(got->server_us);
    return load_and_store(key, view_of(token), load, std::move(got->entry));
}

}  // namespace holdfast::detail
