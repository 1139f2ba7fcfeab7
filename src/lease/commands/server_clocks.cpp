// SPDX-License-Identifier: Apache-2.0
#include "lease/commands/server_clocks.hpp"

#include "core/hash_slot.hpp"
#include "core/validity.hpp"
#include "lease/commands/lease_commands.hpp"

#include <array>
#include <charconv>

namespace holdfast {

std::optional<wall_time> time_told(std::span<const reply> parts) {
    if (parts.size() != 2) return std::nullopt;
    std::array<std::int64_t, 2> numbers{};
    for (std::size_t i = 0; i < 2; ++i) {
        const std::string& text = parts[i].text();
        const auto [rest, problem] =
            std::from_chars(text.data(), text.data() + text.size(), numbers[i]);
        if (problem != std::errc{}) return std::nullopt;
    }
    return wall_time(std::chrono::seconds(numbers[0]) + std::chrono::microseconds(numbers[1]));
}

duration server_clocks::see(unsigned slot, const detail::clock_watch::sample& now,
                            duration allowed) {
    const std::scoped_lock guard(mutex_);
    return by_slot_[slot].see(now, allowed);
}

// Nobody is told of a step that a new connection notices: so it must not hide one. The first
// sample is what it is for.
void server_clocks::greet(const reply& answer, time_point sent, time_point heard) {
    if (answer.type() != reply::kind::array) return;
    const auto told = time_told(answer.elements());
    if (!told) return;
    const std::scoped_lock guard(mutex_);
    if (by_slot_.contains(0)) return;
    static_cast<void>(by_slot_[0].see({*told, sent, heard}, duration::max()));
}

std::vector<std::string> time_command() {
    return {"TIME"};
}

void note_clock(const command_lease_options& options, const lease_commands& said,
                const lease_request& request, time_point sent, const clock& time,
                result<lease_reply>& meant) {
    const auto* kept = std::get_if<ask::renew>(&request);
    if (options.clocks == nullptr || kept == nullptr || !meant) return;
    if (said.server_time() == wall_time()) return;
    detail::text_arena room;
    const unsigned slot = options.scope == key_scope::slot
                              ? hash_slot(lock_key(room, options.prefix, kept->name))
                              : 0;
    const duration by = options.clocks->see(slot, {said.server_time(), sent, time.now()},
                                            drift_allowance(kept->ttl));
    if (by == duration::zero()) return;
    const clock_step step{.by = by, .endangers = by > duration::zero()};
    if (auto* good = std::get_if<answer::renewed>(&*meant)) good->clock = step;
    if (auto* gone = std::get_if<answer::lost>(&*meant)) gone->clock = step;
}

}  // namespace holdfast
