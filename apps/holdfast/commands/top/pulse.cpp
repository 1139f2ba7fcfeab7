// SPDX-License-Identifier: Apache-2.0
#include "commands/top/pulse.hpp"

#include "commands/doctor/redis_facts.hpp"
#include "commands/lock/lease_changes.hpp"

#include <algorithm>
#include <charconv>
#include <string>

namespace holdfast::app {
namespace {

std::optional<std::uint64_t> number(const std::string& text) {
    std::uint64_t value = 0;
    const char* const end = text.data() + text.size();
    const auto [rest, ec] = std::from_chars(text.data(), end, value);
    return ec == std::errc{} && rest == end && !text.empty() ? std::optional(value) : std::nullopt;
}

std::optional<double> per_second(const std::optional<std::uint64_t>& before,
                                 const std::optional<std::uint64_t>& now, double seconds) {
    if (!before || !now || *now < *before) return std::nullopt;
    return static_cast<double>(*now - *before) / seconds;
}

}  // namespace

pulse_meter::counts pulse_meter::ask(client& on) const {
    counts now;
    if (!one_server_ || !on.commands()) return now;
    command_engine& engine = *on.commands();
    const time_point give_up = engine.time().now() + std::chrono::seconds(1);
    // The time first: what raises the counter later raises it above that.
    if (const auto time = engine.execute(words("TIME").idempotent(), give_up);
        time && time->elements().size() == 2) {
        const auto seconds = number(time->elements()[0].text());
        const auto micros = number(time->elements()[1].text());
        if (seconds && micros) now.time_us = *seconds * 1'000'000 + *micros;
    }
    if (const auto fence = engine.execute(words("GET", "holdfast:fence").idempotent(), give_up)) {
        now.fences = number(fence->text()).value_or(0);  // nothing was granted yet
    }
    if (const auto info = engine.execute(words("INFO", "stats").idempotent(), give_up)) {
        const auto fields = parse_info(info->text());
        const auto field = [&](std::string_view name) {
            const auto found = fields.find(name);
            return found == fields.end() ? std::nullopt : number(found->second);
        };
        now.expired = field("expired_keys");
        now.hits = field("keyspace_hits");
        now.misses = field("keyspace_misses");
    }
    return now;
}

// Our own looks read a few keys, too: of so few reads a share says nothing.
std::optional<double> pulse_meter::share_of_hits(const counts& before, const counts& now) {
    constexpr std::uint64_t fewest = 100;
    if (!before.hits || !before.misses || !now.hits || !now.misses) return std::nullopt;
    if (*now.hits < *before.hits || *now.misses < *before.misses) return std::nullopt;
    const std::uint64_t hits = *now.hits - *before.hits;
    const std::uint64_t reads = hits + *now.misses - *before.misses;
    if (reads < fewest) return std::nullopt;
    return static_cast<double>(hits) / static_cast<double>(reads);
}

pulse pulse_meter::measure(client& on, std::span<const lease_info> seen) {
    const counts now = ask(on);
    const time_point when = system_clock().now();
    pulse found;
    found.from_counter = now.fences.has_value();
    found.expired_from_counter = now.expired.has_value();
    const std::uint64_t lost = losses_.look(seen, when - last_);
    if (last_ != time_point{}) {
        const double seconds = std::chrono::duration<double>(when - last_).count();
        double acquired = 0;
        double handed_off = 0;
        for (const lease_change& change : changes_between(leases_, seen)) {
            acquired += change.type == lease_change::kind::acquired ? 1 : 0;
            handed_off += change.type == lease_change::kind::handed_off ? 1 : 0;
        }
        found.handed_off = handed_off / seconds;
        // A connection that is made raises the counter to the time of day, which it lags behind
        // otherwise: then the difference is no number of grants.
        const bool raised = now.fences && before_.time_us && *now.fences >= *before_.time_us;
        if (!raised) found.acquired = per_second(before_.fences, now.fences, seconds);
        found.at_least = found.from_counter && !found.acquired;
        if (!found.acquired) found.acquired = (acquired + handed_off) / seconds;
        found.expired = per_second(before_.expired, now.expired, seconds);
        expired_ += found.expired ? *now.expired - *before_.expired : lost;
        if (!found.expired) found.expired = static_cast<double>(lost) / seconds;
        found.expired_in_all = expired_;
        found.hits = share_of_hits(before_, now);
    }
    last_ = when;
    before_ = now;
    leases_.assign(seen.begin(), seen.end());
    return found;
}

}  // namespace holdfast::app
