// SPDX-License-Identifier: Apache-2.0
#include "driver/memory/eviction.hpp"

#include "driver/memory/numbers.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <limits>

namespace holdfast::memory {
namespace {

constexpr std::array<std::string_view, 8> policy_names = {
    "noeviction",   "allkeys-lru",  "allkeys-lfu",     "allkeys-random",
    "volatile-lru", "volatile-lfu", "volatile-random", "volatile-ttl",
};

struct memory_unit {
    std::string_view name;
    std::size_t bytes;
};

constexpr memory_unit memory_units[] = {
    {"", 1},           {"b", 1},
    {"k", 1000},       {"kb", 1024},
    {"m", 1'000'000},  {"mb", 1024UL * 1024},
    {"g", 1000000000}, {"gb", 1024UL * 1024 * 1024},
};

// Redis's LFU: a new key starts above zero so that it is not let go at once; a counter of c grows
// with a chance of 1 in (c - first) * 10 + 1; a minute without a use takes one away.
constexpr std::uint32_t first_count = 5;
constexpr std::uint32_t most_count = 255;
constexpr std::uint32_t growth_factor = 10;

std::uint32_t minutes(std::int64_t now_ms) noexcept {
    return static_cast<std::uint32_t>(now_ms / 60'000) & 0xFFFFU;
}

std::uint32_t count_now(std::uint32_t mark, std::int64_t now_ms) noexcept {
    const std::uint32_t idle = (minutes(now_ms) - (mark >> 8U)) & 0xFFFFU;
    const std::uint32_t count = mark & 0xFFU;
    return count > idle ? count - idle : 0;
}

}  // namespace

std::string_view name_of(eviction_policy policy) noexcept {
    return policy_names[static_cast<std::size_t>(policy)];
}

std::optional<eviction_policy> eviction_policy_named(std::string_view name) noexcept {
    for (std::size_t i = 0; i < policy_names.size(); ++i) {
        if (is_word(name, policy_names[i])) return static_cast<eviction_policy>(i);
    }
    return std::nullopt;
}

std::span<const std::string_view> eviction_policy_names() noexcept {
    return policy_names;
}

bool of_expiring(eviction_policy policy) noexcept {
    return policy >= eviction_policy::volatile_lru;
}

bool is_random(eviction_policy policy) noexcept {
    return policy == eviction_policy::allkeys_random || policy == eviction_policy::volatile_random;
}

std::optional<std::size_t> parse_memory_amount(std::string_view text) noexcept {
    std::size_t number = 0;
    const char* end = text.data() + text.size();
    const auto [rest, failed] = std::from_chars(text.data(), end, number);
    if (failed != std::errc()) return std::nullopt;
    const std::string_view unit(rest, static_cast<std::size_t>(end - rest));
    for (const memory_unit& u : memory_units) {
        if (!is_word(unit, u.name)) continue;
        if (number > std::numeric_limits<std::size_t>::max() / u.bytes) return std::nullopt;
        return number * u.bytes;
    }
    return std::nullopt;
}

void use_marks::follow(eviction_policy policy) noexcept {
    by_frequency_ =
        policy == eviction_policy::allkeys_lfu || policy == eviction_policy::volatile_lfu;
}

std::uint32_t use_marks::fresh(std::int64_t now_ms) noexcept {
    return by_frequency_ ? (minutes(now_ms) << 8U) | first_count : ++uses_;
}

void use_marks::used(std::uint32_t& mark, std::int64_t now_ms) noexcept {
    if (!by_frequency_) {
        mark = ++uses_;
        return;
    }
    std::uint32_t count = count_now(mark, now_ms);
    const std::uint32_t above = count > first_count ? count - first_count : 0;
    chance_ = chance_ * 1664525U + 1013904223U;
    if (count < most_count && (chance_ >> 8U) % (above * growth_factor + 1) == 0) ++count;
    mark = (minutes(now_ms) << 8U) | count;
}

std::uint64_t use_marks::disuse(std::uint32_t mark, std::int64_t now_ms) const noexcept {
    if (by_frequency_) return most_count - count_now(mark, now_ms);
    return uses_ - mark;  // wraps around as the counter does
}

}  // namespace holdfast::memory
