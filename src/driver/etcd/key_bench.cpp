// SPDX-License-Identifier: Apache-2.0
#include "driver/etcd/key_bench.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace holdfast::etcd {

time_point key_bench::told_clock::now() const noexcept {
    return time_point(std::chrono::microseconds(wall_us_.load()));
}

wall_time key_bench::told_clock::wall() const noexcept {
    return wall_time(std::chrono::microseconds(wall_us_.load()));
}

// Nothing waits here: commands that wait are refused before.
void key_bench::told_clock::wait_until(std::unique_lock<std::mutex>& /*held*/,
                                       std::condition_variable& /*cv*/, time_point /*when*/) {}

key_bench::key_bench(entropy& chance)
    : engine_(make_memory_engine({.time = &time_, .chance = &chance})) {}

result<key_outcome> key_bench::work(std::span<const command> commands, const stored_keys& keys,
                                    std::int64_t wall_us) {
    key_outcome out{.replies = std::vector<result<reply>>(commands.size()),
                    .changes = {},
                    .moment_us = wall_us};
    for (const auto& [key, stored] : keys) {
        if (!stored.record) continue;
        if (stored.record->written_us - wall_us > most_ahead_us) {
            return fail(errc::unavailable,
                        fmt::format("etcd: '{}' was written by a clock that is {} s ahead of this "
                                    "machine's: set both by NTP",
                                    key, (stored.record->written_us - wall_us) / 1'000'000));
        }
        out.moment_us = std::max(out.moment_us, stored.record->written_us);
    }
    const std::scoped_lock guard(mutex_);
    time_.tell(out.moment_us);
    engine_->clear();
    const auto before = place(keys);
    if (!before) return std::unexpected(before.error());
    engine_->exchange(commands, out.replies, time_point::max());
    if (auto done = collect(*before, out.changes); !done) return std::unexpected(done.error());
    return out;
}

result<key_bench::images> key_bench::place(const stored_keys& keys) {
    images before;
    for (const auto& [key, stored] : keys) {
        if (stored.record && !engine_->place(key, stored.record->image)) {
            return fail(errc::corrupt, fmt::format("what is stored under '{}' is damaged", key));
        }
        before.emplace(key, engine_->image(key));  // nothing, if it has expired
    }
    return before;
}

result<void> key_bench::collect(const images& before, std::vector<key_change>& into) {
    for (const std::string& name : engine_->key_names()) {
        if (before.contains(name)) continue;
        return fail(
            errc::invalid_argument,
            fmt::format("a script wrote '{}', which is not among its KEYS; nothing was done",
                        name));
    }
    for (const auto& [key, was] : before) {
        auto now = engine_->image(key);
        if (now != was) into.push_back({key, std::move(now)});
    }
    return {};
}

}  // namespace holdfast::etcd
