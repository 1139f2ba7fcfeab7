// SPDX-License-Identifier: Apache-2.0
#include "traffic/decision_cache.hpp"

#include "core/validity.hpp"

namespace holdfast::detail {

decision_cache::decision_cache(std::size_t most_keys)
    : most_per_shard_(most_keys / shard_count + (most_keys % shard_count == 0 ? 0 : 1)) {}

decision_cache::shard& decision_cache::of(std::string_view key) noexcept {
    // The high bits: the map below takes the low ones.
    return shards_[(text_hash{}(key) >> 48) % shards_.size()];
}

std::optional<decision> decision_cache::refusal(std::string_view key, std::uint64_t n,
                                                time_point now) {
    if (most_per_shard_ == 0) return std::nullopt;
    shard& in = of(key);
    const std::scoped_lock guard(in.mutex);
    const auto found = in.notes.find(key);
    if (found == in.notes.end()) return std::nullopt;
    const note& known = found->second;
    if (now >= known.refused_until || n < known.refused_n) return std::nullopt;
    decision again = known.refused;
    again.retry_after = known.refused_until - now;
    again.reset_after = known.reset_at > now ? known.reset_at - now : duration::zero();
    again.source = decided_by::memory;
    return again;
}

void decision_cache::remember_refusal(std::string_view key, std::uint64_t n,
                                      const decision& refused, time_point sent) {
    if (most_per_shard_ == 0) return;
    shard& in = of(key);
    const std::scoped_lock guard(in.mutex);
    note& known = open(in, key, sent);
    if (sent < known.given_back) return;  // it may not have seen that
    known.refused_until = later(sent, refused.retry_after);
    known.refused_n = n;
    known.refused = refused;
    known.reset_at = later(sent, refused.reset_after);
}

std::optional<duration> decision_cache::window_left(std::string_view key, time_point now) {
    if (most_per_shard_ == 0) return std::nullopt;
    shard& in = of(key);
    const std::scoped_lock guard(in.mutex);
    const auto found = in.notes.find(key);
    if (found == in.notes.end() || now >= found->second.window_end) return std::nullopt;
    return found->second.window_end - now;
}

void decision_cache::remember_window(std::string_view key, time_point end, time_point now) {
    if (most_per_shard_ == 0) return;
    shard& in = of(key);
    const std::scoped_lock guard(in.mutex);
    open(in, key, now).window_end = end;
}

void decision_cache::forget(std::string_view key, time_point now) {
    if (most_per_shard_ == 0) return;
    shard& in = of(key);
    const std::scoped_lock guard(in.mutex);
    note& known = open(in, key, now);
    known.refused_until = {};
    known.given_back = now;
}

decision_cache::note& decision_cache::open(shard& in, std::string_view key, time_point now) const {
    const auto found = in.notes.find(key);
    if (found != in.notes.end()) return found->second;
    if (in.notes.size() >= most_per_shard_) {
        constexpr int looked_at = 8;
        auto victim = in.notes.begin();
        for (auto at = victim; at != in.notes.end() && std::distance(victim, at) < looked_at;
             ++at) {
            if (at->second.refused_until <= now && at->second.window_end <= now) {
                victim = at;
                break;
            }
        }
        in.notes.erase(victim);
    }
    return in.notes[std::string(key)];
}

std::size_t decision_cache::size() const {
    std::size_t total = 0;
    for (const shard& in : shards_) {
        const std::scoped_lock guard(in.mutex);
        total += in.notes.size();
    }
    return total;
}

}  // namespace holdfast::detail
