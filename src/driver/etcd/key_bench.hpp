// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "driver/etcd/key_record.hpp"
#include "driver/memory/memory_engine.hpp"

#include <holdfast/engine/command.hpp>
#include <holdfast/engine/reply.hpp>
#include <holdfast/entropy.hpp>

#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <vector>

/// Works out what commands answer and change, on keys that are handed to it. No I/O.
namespace holdfast::etcd {

/// A key as etcd has it.
struct stored_key {
    std::int64_t version = 0;  ///< The revision that wrote it last; 0: it is not there.
    std::optional<key_record> record{};
};
using stored_keys = std::map<std::string, stored_key, std::less<>>;

/// What is to be written.
struct key_change {
    std::string key;
    std::optional<key_image> now;  ///< Nothing: it is deleted.
};

struct key_outcome {
    std::vector<result<reply>> replies;
    std::vector<key_change> changes;
    std::int64_t moment_us = 0;  ///< When it happened: the time that the commands saw.
};

/// Thread safety: all members may be called from any thread; one works at a time.
class key_bench {
public:
    /// A key that was written by a clock so far ahead of ours is left alone: one of the two is
    /// wrong, and to go on would hold back all that waits for time to pass.
    static constexpr std::int64_t most_ahead_us = 10'000'000;

    explicit key_bench(entropy& chance);

    /// The time is `wall_us`, or that of the newest key if that is later.
    /// Errors: corrupt (a record that is none), invalid_argument (a script wrote a key that it did
    /// not name), unavailable (clocks differ too much).
    [[nodiscard]] result<key_outcome> work(std::span<const command> commands,
                                           const stored_keys& keys, std::int64_t wall_us);

private:
    /// Tells what it was told.
    class told_clock final : public clock {
    public:
        [[nodiscard]] time_point now() const noexcept override;
        [[nodiscard]] wall_time wall() const noexcept override;
        void wait_until(std::unique_lock<std::mutex>& held, std::condition_variable& cv,
                        time_point when) override;
        void tell(std::int64_t wall_us) noexcept { wall_us_ = wall_us; }

    private:
        std::atomic<std::int64_t> wall_us_ = 0;
    };
    using images = std::map<std::string, std::optional<key_image>, std::less<>>;

    [[nodiscard]] result<images> place(const stored_keys& keys);
    [[nodiscard]] result<void> collect(const images& before, std::vector<key_change>& into);

    std::mutex mutex_;
    told_clock time_;
    std::shared_ptr<memory_engine> engine_;
};

}  // namespace holdfast::etcd
