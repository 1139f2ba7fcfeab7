// SPDX-License-Identifier: Apache-2.0
#include <holdfast/push/settings.hpp>

#include <fmt/format.h>

#include <array>
#include <utility>

namespace holdfast::push {
namespace {

using namespace std::chrono_literals;

constexpr std::array mode_words{std::pair{mode::coalesce, std::string_view("coalesce")},
                                std::pair{mode::drop, std::string_view("drop")},
                                std::pair{mode::latest, std::string_view("latest")},
                                std::pair{mode::none, std::string_view("none")}};

// `*` and `?`; goes back to the last star only, so it takes pattern × text steps at most.
bool matches(std::string_view pattern, std::string_view text) noexcept {
    std::size_t p = 0;
    std::size_t t = 0;
    std::size_t star = std::string_view::npos;
    std::size_t resume = 0;
    while (t < text.size()) {
        if (p < pattern.size() && (pattern[p] == '?' || pattern[p] == text[t]) &&
            pattern[p] != '*') {
            ++p, ++t;
        } else if (p < pattern.size() && pattern[p] == '*') {
            star = p++;
            resume = t;
        } else if (star != std::string_view::npos) {
            p = star + 1;
            t = ++resume;
        } else {
            return false;
        }
    }
    while (p < pattern.size() && pattern[p] == '*') ++p;
    return p == pattern.size();
}

result<void> within(std::string_view what, duration value, duration least, duration most) {
    if (value >= least && value <= most) return {};
    return fail(errc::invalid_argument, fmt::format("{} is {} ns: it takes {} to {} ns", what,
                                                    value.count(), least.count(), most.count()));
}

result<void> within(std::string_view what, std::size_t value, std::size_t least, std::size_t most) {
    if (value >= least && value <= most) return {};
    return fail(errc::invalid_argument,
                fmt::format("{} is {}: it takes {} to {}", what, value, least, most));
}

result<void> check_names(const settings& s) {
    if (s.prefix.size() > 128 || s.prefix.find_first_of("{}") != std::string::npos) {
        return fail(errc::invalid_argument, "prefix: at most 128 bytes, and no braces");
    }
    if (s.tagged && s.consumers < s.partitions) {
        return fail(
            errc::invalid_argument,
            fmt::format("consumers is {}, partitions is {}: each partition needs a consumer",
                        s.consumers, s.partitions));
    }
    for (const room_rule& rule : s.rules) {
        if (rule.pattern.empty()) {
            return fail(errc::invalid_argument, "a rule has no pattern: write * for all rooms");
        }
        if (!rule.cooldown) continue;
        if (auto fit = within("cooldown of a rule", *rule.cooldown, 1ms, 1h); !fit) return fit;
    }
    return {};
}

}  // namespace

std::string_view to_string(mode m) noexcept {
    return mode_words[static_cast<std::size_t>(m)].second;
}

result<mode> parse_mode(std::string_view word) {
    for (const auto& [value, text] : mode_words) {
        if (text == word) return value;
    }
    return fail(errc::invalid_argument,
                fmt::format("'{}' is no mode: coalesce, drop, latest or none", word));
}

result<void> check(const settings& s) {
    const std::array checks{within("dedup", s.dedup, 1ms, 24h),
                            within("cooldown", s.cooldown, 1ms, 1h),
                            within("lock_life", s.lock_life, 100ms, 1h),
                            within("history_age", s.history_age, 1s, 24h * 366),
                            within("room_age", s.room_age, s.history_age, 24h * 366),
                            within("presence_life", s.presence_life, 1s, 1h),
                            within("tail_check", s.tail_check, 10ms, 1h),
                            within("timeout", s.timeout, 1ms, 10min),
                            within("history_length", s.history_length, 1, 1'000'000),
                            within("consumers", s.consumers, 1, 256),
                            within("queue_length", s.queue_length, 1, 100'000'000),
                            within("frame_messages", s.frame_messages, 1, 100'000),
                            within("frame_bytes", s.frame_bytes, 1024, 64U << 20U),
                            within("partitions", s.partitions, 1, 256),
                            within("sizes.room", s.sizes.room, 1, 256),
                            within("sizes.messages", s.sizes.messages, 1, 1000),
                            check_names(s)};
    for (const auto& outcome : checks) {
        if (!outcome) return outcome;
    }
    return {};
}

room_policy policy_of(const settings& s, std::string_view room) {
    room_policy policy{.mode = s.mode, .require_ids = s.require_ids, .cooldown = s.cooldown};
    for (const room_rule& rule : s.rules) {
        if (!matches(rule.pattern, room)) continue;
        policy.mode = rule.mode.value_or(policy.mode);
        policy.require_ids = rule.require_ids.value_or(policy.require_ids);
        policy.cooldown = rule.cooldown.value_or(policy.cooldown);
        break;
    }
    return policy;
}

bool needs_tags(std::string_view url) noexcept {
    return url.starts_with("redis-cluster:") || url.starts_with("rediss-cluster:");
}

}  // namespace holdfast::push
