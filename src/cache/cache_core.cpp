// SPDX-License-Identifier: Apache-2.0
//
// How a read goes. cache_writes.cpp has the writes, cache_loads.cpp the loads.
#include "cache/cache_core.hpp"

#include "command/script_call.hpp"
#include "core/validity.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

namespace holdfast::detail {
namespace {

// For a message that was lost, and where there are no messages at all.
constexpr duration look_again = std::chrono::seconds(1);
constexpr duration look_again_unheard = std::chrono::milliseconds(20);
constexpr duration listen_again = std::chrono::seconds(1);
constexpr duration track_again = std::chrono::seconds(10);

std::uint64_t draw_process(entropy& chance) {
    return chance.below(UINT64_MAX);
}

}  // namespace

std::shared_ptr<cache_bytes> make_cache(command_access where, cache_options options,
                                        byte_loader background) {
    return std::make_shared<cache_core>(std::move(where), std::move(options),
                                        std::move(background));
}

cache_core::cache_core(command_access where, cache_options options, byte_loader background)
    : where_(std::move(where)),
      options_(std::move(options)),
      background_(std::move(background)),
      tokens_(draw_process(where_.chance())),
      process_(tokens_.process_text()),
      entries_(where_, options_.prefix, process_),
      local_(options_.local_bytes),
      engine_(options_.engine_breaker, where_.chance()),
      source_(options_.source_breaker, where_.chance()),
      away_(options_.away_loads_per_second, std::max(1.0, options_.away_loads_per_second)),
      pending_(where_, options_.prefix),
      fit_(check_options()),
      workers_(std::make_unique<background_loads>()) {}

cache_core::~cache_core() {
    workers_.reset();
    tracked_.reset();
    heard_.reset();
}

result<void> cache_core::check_options() const {
    return first_failure({check_place(where_), check_span("fresh", options_.fresh),
                          check_span("absent", options_.absent),
                          check_span("lease", options_.lease), check_timeout(options_.timeout),
                          check_prefix(options_.prefix)});
}

result<void> cache_core::check(std::string_view key) const {
    if (!fit_) return fit_;
    if (auto fit = check_key(key); !fit) return fit;
    return check_plain_key(options_.prefix, key);
}

time_point cache_core::give_up() const {
    return later(now(), options_.timeout);
}

// The engine did not answer if it could not be asked. What it refuses is an answer.
template <class T>
bool cache_core::answered(const result<T>& from) {
    const bool away =
        !from && (from.error() == errc::unavailable || from.error() == errc::timed_out ||
                  from.error() == errc::outcome_unknown);
    if (away) {
        engine_.failed(now());
    } else {
        engine_.succeeded();
    }
    return !away;
}

template bool cache_core::answered(const result<std::string>&);
template bool cache_core::answered(const result<claimed>&);
template bool cache_core::answered(const result<stored>&);
template bool cache_core::answered(const result<bool>&);

// --- messages -------------------------------------------------------------------------------

void cache_core::listen() {
    if (listening_.load(std::memory_order_acquire)) return;
    // One caller tries, and no other waits for it: until it has succeeded, waiters look now and
    // then instead, and no copies are kept.
    const std::unique_lock guard(listen_mutex_, std::try_to_lock);
    if (!guard || listening_.load(std::memory_order_relaxed) || now() < next_listen_) return;
    if (!heard_) {
        auto made = where_.engine()->subscribe(
            entries_.channel(), channel_scope::global, [this](const push_event& e) { hear(e); },
            give_up());
        if (made) heard_ = std::move(*made);
    }
    if (heard_ && track()) listening_.store(true, std::memory_order_release);
    next_listen_ = later(now(), heard_ ? track_again : listen_again);
}

// A change by anything but a cache is told by the server alone. One that cannot tell, or may not,
// leaves it to the caches. False: it did not answer, so ask again.
bool cache_core::track() {
    if (!local_.enabled()) return true;
    auto made = where_.engine()->watch_keys(
        options_.prefix, [this](const push_event& e) { hear_change(e); }, give_up());
    if (!made) return made.error() == errc::unsupported || made.error() == errc::denied;
    tracked_ = std::move(*made);
    tracking_.store(true, std::memory_order_relaxed);
    return true;
}

void cache_core::hear_change(const push_event& event) {
    if (event.type == push_event::kind::gap) {
        // The copies answer no more, except while the engine is away.
        tracked_since_.store(now().time_since_epoch().count() + 1, std::memory_order_release);
        return local_.refuse_fetched();
    }
    if (!event.payload.starts_with(options_.prefix)) return;
    local_.erase(event.payload.substr(options_.prefix.size()));
}

void cache_core::hear(const push_event& event) {
    if (event.type == push_event::kind::gap) {
        local_.clear();
        events_.tell_all();
        return;
    }
    const auto told = cache_message::read(event.payload);
    if (!told) return;
    // What this process stored it has put there itself.
    const bool own = told->happened == cache_message::what::stored && told->process == process_;
    if (!own && told->happened != cache_message::what::released) local_.erase(told->key);
    events_.tell(told->key);
}

// Of a time when messages are not heard no copy may be kept: a mark that no key has.
std::uint64_t cache_core::copy_mark(std::string_view key) const {
    if (!local_.enabled() || !listening_.load(std::memory_order_acquire)) return UINT64_MAX;
    return local_.mark(key);
}

// --- reading --------------------------------------------------------------------------------

bool cache_core::find_local(std::string_view key, reader read, void* to) {
    if (!local_.enabled() || where_.engine() == nullptr) return false;
    const time_point since{duration(tracked_since_.load(std::memory_order_acquire))};
    if (!local_.find(key, std::max(since, now() - options_.local_life), read, to)) return false;
    counted_.local_hits.fetch_add(1, std::memory_order_relaxed);
    return true;
}

std::atomic<std::uint32_t>& cache_core::warm_slot(std::string_view key, std::uint32_t& tag) {
    const std::size_t hash = std::hash<std::string_view>{}(key);
    tag = static_cast<std::uint32_t>(hash >> 32U) | 1U;
    return warm_[hash % warm_.size()];
}

result<std::string> cache_core::look(std::string_view key, std::string_view token,
                                     time_point give_up) {
    std::uint32_t tag = 0;
    auto& warm = warm_slot(key, tag);
    result<std::string> seen;
    if (warm.load(std::memory_order_relaxed) == tag) {
        seen = entries_.look(key, give_up);
        if (!seen || !seen->empty()) return seen;
        warm.store(0, std::memory_order_relaxed);
    }
    seen = entries_.look_or_claim(key, token, options_.lease, give_up);
    return seen;
}

load_result cache_core::get(std::string_view key, const byte_loader& load) {
    if (auto fit = check(key); !fit) return std::unexpected(std::move(fit.error()));
    listen();
    time_point asked = now();
    const time_point until = later(asked, options_.wait);
    const auto token = tokens_.next();
    for (;; asked = now()) {
        if (!engine_.allows(asked))
            return load_while_away(key, load, {errc::unavailable, "the engine is away"});
        const std::uint64_t local_mark = copy_mark(key);
        const std::uint64_t event_mark = events_.mark(key);
        auto entry = look(key, view_of(token), later(asked, options_.timeout));
        if (!answered(entry)) return load_while_away(key, load, entry.error());
        if (!entry) return std::unexpected(std::move(entry.error()));
        const auto seen = read_entry(*entry);
        if (!seen) {
            return fail(errc::corrupt, fmt::format("'{}' holds something else: not an entry of a "
                                                   "cache",
                                                   entries_.name_of(key)));
        }
        if (seen->kind == entry_kind::loading && seen->token != view_of(token)) {
            auto other = wait_for_other(key, seen->token, event_mark, until);
            if (other) return *std::move(other);
            continue;
        }
        auto done = answer(key, view_of(token), *std::move(entry), {asked, local_mark}, load);
        if (done) return *std::move(done);
        if (now() >= until) {
            return fail(errc::timed_out, fmt::format("'{}' was not loaded in time", key));
        }
        // Another one refreshes it, and stale values are not wanted.
        events_.wait(key, event_mark, where_.engine()->time(),
                     std::min(until, later(now(), look_again)));
    }
}

cache_core::step cache_core::answer(std::string_view key, std::string_view token, std::string entry,
                                    const question& when, const byte_loader& load) {
    const auto seen = read_entry(entry);
    if (seen->kind == entry_kind::loading) {
        counted_.misses.fetch_add(1, std::memory_order_relaxed);
        return load_and_store(key, token, load, {});
    }
    const age wanted = age_of(*seen, when.asked);
    if (wanted != age::fresh) {
        return claim_and_load(key, token,
                              wanted == age::early ? claim_mode::early : claim_mode::stale, load);
    }
    counted_.hits.fetch_add(1, std::memory_order_relaxed);
    std::uint32_t tag = 0;
    auto& warm = warm_slot(key, tag);
    if (warm.load(std::memory_order_relaxed) != tag) warm.store(tag, std::memory_order_relaxed);
    const bool absent = seen->kind == entry_kind::absent;
    local_.put(key, seen->value, absent, when.asked, when.local_mark);
    if (absent) return load_result(std::nullopt);
    entry.erase(0, entry_header_bytes);
    return load_result(std::move(entry));
}

cache_core::step cache_core::wait_for_other(std::string_view key, std::string_view token,
                                            std::uint64_t seen, time_point until) {
    clock& time = where_.engine()->time();
    if (time.now() >= until) {
        return fail(errc::timed_out, fmt::format("'{}' is being loaded by another caller, and was "
                                                 "not there in time",
                                                 key));
    }
    counted_.waits.fetch_add(1, std::memory_order_relaxed);
    if (const auto flight = flights_.find(key, token)) {
        // Not longer than the lease can be: then it is somebody else's turn.
        if (auto landed = flight->wait(time, std::min(until, later(time.now(), options_.lease)))) {
            return landed;
        }
        return std::nullopt;
    }
    const duration pause =
        listening_.load(std::memory_order_acquire) ? look_again : look_again_unheard;
    events_.wait(key, seen, time, std::min(until, later(time.now(), pause)));
    return std::nullopt;
}

cache_core::age cache_core::age_of(const entry_view& seen, time_point at) {
    const std::int64_t offset = server_offset_us_.load(std::memory_order_relaxed);
    if (offset == unknown_offset) return age::stale;  // the script knows, and tells its time
    using std::chrono::microseconds;
    const std::int64_t server_now =
        std::chrono::duration_cast<microseconds>(at.time_since_epoch()).count() + offset;
    const std::int64_t left = seen.soft_us - server_now;
    if (left <= 0) return age::stale;
    const double lead = static_cast<double>(seen.took_us) * options_.early;
    if (lead <= 0 || static_cast<double>(left) > 40 * lead) return age::fresh;
    // XFetch: the moment of the refresh is drawn, so that it comes before the expiry for one caller
    // of many. The lease sees to it that it is one.
    constexpr double parts = 1U << 30U;
    const double drawn = (static_cast<double>(where_.chance().below(1U << 30U)) + 1) / parts;
    return -lead * std::log(drawn) >= static_cast<double>(left) ? age::early : age::fresh;
}

void cache_core::learn_time(std::int64_t server_us) {
    const std::int64_t mine =
        std::chrono::duration_cast<std::chrono::microseconds>(now().time_since_epoch()).count();
    server_offset_us_.store(server_us - mine, std::memory_order_relaxed);
}

std::vector<load_result> cache_core::get_many(std::span<const std::string_view> keys,
                                              const byte_loader& load) {
    // One pipeline tells which are hits; what is not goes the way of a single read.
    std::vector<std::size_t> asked;
    std::vector<load_result> all(keys.size());
    std::vector<std::string> names;
    std::vector<bool> done(keys.size(), false);
    if (where_.engine() != nullptr && server_offset_us_ != unknown_offset &&
        engine_.allows(now())) {
        for (std::size_t i = 0; i < keys.size(); ++i) {
            if (!check(keys[i])) continue;
            asked.push_back(i);
            names.push_back(entries_.name_of(keys[i]));
        }
        std::vector<std::array<std::string_view, 2>> texts;
        for (const auto& name : names) texts.push_back({"GET", name});
        std::vector<command> commands;
        for (const auto& text : texts) commands.push_back({text, repeat::idempotent});
        std::vector<result<reply>> replies(commands.size());
        if (!commands.empty()) where_.engine()->exchange(commands, replies, give_up());
        for (std::size_t n = 0; n < asked.size(); ++n) {
            if (!replies[n]) continue;
            const auto seen = read_entry(replies[n]->text());
            if (!seen || seen->kind == entry_kind::loading || age_of(*seen, now()) != age::fresh) {
                continue;
            }
            counted_.hits.fetch_add(1, std::memory_order_relaxed);
            done[asked[n]] = true;
            if (seen->kind == entry_kind::value) all[asked[n]] = std::string(seen->value);
        }
    }
    for (std::size_t i = 0; i < keys.size(); ++i) {
        if (!done[i]) all[i] = get(keys[i], load);
    }
    return all;
}

result<std::optional<peeked_bytes>> cache_core::peek(std::string_view key) {
    if (auto fit = check(key); !fit) return std::unexpected(std::move(fit.error()));
    auto entry = entries_.look(key, give_up());
    static_cast<void>(answered(entry));
    if (!entry) return std::unexpected(std::move(entry.error()));
    if (entry->empty()) return std::nullopt;
    const auto seen = read_entry(*entry);
    if (!seen) {
        return fail(errc::corrupt, fmt::format("'{}' holds something else: not an entry of a cache",
                                               entries_.name_of(key)));
    }
    if (seen->kind == entry_kind::loading) return std::nullopt;
    const bool stale = server_offset_us_ != unknown_offset && age_of(*seen, now()) == age::stale;
    if (seen->kind == entry_kind::absent) return peeked_bytes{std::nullopt, stale};
    return peeked_bytes{std::string(seen->value), stale};
}

}  // namespace holdfast::detail
