// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "drifting_clock.hpp"
#include "timeline.hpp"

#include "driver/memory/memory_engine.hpp"

#include <holdfast/engine/command.hpp>
#include <holdfast/engine/reply.hpp>
#include <holdfast/entropy.hpp>

#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

/// One server: the embedded engine, with a clock of its own, that can die and come back.
///
/// Redis replicates and stores effects, not scripts. So a server keeps an image of its data after
/// each write: a replica that lags, and a disk that was not written in time, have an older one.
namespace holdfast::sim {

/// A command as it lies on a wire: with its own words.
struct wire_command {
    std::vector<std::string> words;
    const script* body = nullptr;
    bool may_repeat = false;
};
using wire_batch = std::vector<wire_command>;

[[nodiscard]] wire_batch copy_of(std::span<const command> commands);

class node {
public:
    node(timeline& time, std::uint64_t seed, duration offset, std::int64_t drift_ppm);

    [[nodiscard]] bool up() const noexcept { return up_; }
    /// New with each start: what was sent to the one before does not arrive.
    [[nodiscard]] unsigned incarnation() const noexcept { return incarnation_; }
    [[nodiscard]] drifting_clock& time() noexcept { return clock_; }
    [[nodiscard]] memory_engine& engine() noexcept { return *engine_; }
    [[nodiscard]] const std::string& history() const noexcept { return history_; }

    /// Carries out the commands, in order.
    [[nodiscard]] std::vector<reply> carry_out(std::span<const wire_command> batch);

    using hearer = std::function<void(std::string payload)>;
    void listen(unsigned process, const std::string& channel, hearer tell);
    void stop_listening(unsigned process);

    void crash();
    /// Starts again with what it had at that moment.
    void start(moment as_of);
    /// Starts again with nothing.
    void start_empty();

    /// Becomes a master with what `from` had at that moment.
    void take_over(const node& from, moment as_of);

    /// Keeps images, for those that lag.
    void keep_images(bool keep) { keeps_images_ = keep; }
    [[nodiscard]] const memory::memory_image& image_at(moment as_of) const;

    /// Until then it answers nobody, and then all.
    void freeze(moment until) { frozen_until_ = until; }
    [[nodiscard]] moment frozen_until() const noexcept { return frozen_until_; }

    bool is_master = true;

private:
    void make_engine();
    void keep_image();

    timeline& timeline_;
    seeded_entropy chance_;
    drifting_clock clock_;
    std::shared_ptr<memory_engine> engine_;
    std::map<unsigned, std::unique_ptr<subscription>> listeners_;
    std::deque<std::pair<moment, memory::memory_image>> images_;
    memory::memory_image nothing_;
    std::string history_;
    unsigned incarnation_ = 0;
    bool up_ = true;
    bool keeps_images_ = false;
    moment frozen_until_{0};
};

}  // namespace holdfast::sim
