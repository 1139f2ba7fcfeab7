// SPDX-License-Identifier: Apache-2.0
#include "node.hpp"

#include "script_mutants.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <span>

namespace holdfast::sim {
namespace {

using namespace std::chrono_literals;

// How far back somebody may lag.
constexpr moment oldest_image = 30s;

}  // namespace

wire_batch copy_of(std::span<const command> commands) {
    wire_batch batch;
    batch.reserve(commands.size());
    for (const command& c : commands) {
        batch.push_back({{c.args.begin(), c.args.end()}, c.body, c.again == repeat::idempotent});
    }
    return batch;
}

node::node(timeline& time, std::uint64_t seed, duration offset, std::int64_t drift_ppm)
    : timeline_(time), chance_(seed), clock_(time, offset, drift_ppm) {
    make_engine();
}

void node::make_engine() {
    engine_ = make_memory_engine({.time = &clock_, .chance = &chance_});
    ++incarnation_;
    up_ = true;
    history_ = fmt::format("{:016x}{:016x}{:08x}", chance_.below(UINT64_MAX),
                           chance_.below(UINT64_MAX), chance_.below(UINT32_MAX));
    engine_->replicates(history_, {});
}

std::vector<reply> node::carry_out(std::span<const wire_command> batch) {
    std::vector<reply> replies;
    for (const wire_command& one : batch) {
        std::vector<std::string_view> words(one.words.begin(), one.words.end());
        mutate_script(words);
        const command c{.args = words};
        result<reply> answer;
        engine_->exchange({&c, 1}, {&answer, 1}, time_point::max());
        replies.push_back(answer ? std::move(*answer) : reply::error("ERR no answer"));
    }
    keep_image();
    return replies;
}

void node::keep_image() {
    if (!keeps_images_) return;
    images_.emplace_back(timeline_.now(), engine_->image());
    while (images_.size() > 1 && images_[1].first < timeline_.now() - oldest_image) {
        images_.pop_front();
    }
}

const memory::memory_image& node::image_at(moment as_of) const {
    const auto after =
        std::ranges::upper_bound(images_, as_of, {}, [](const auto& one) { return one.first; });
    return after == images_.begin() ? nothing_ : std::prev(after)->second;
}

void node::listen(unsigned process, const std::string& channel, hearer tell) {
    auto heard = engine_->subscribe(
        channel, channel_scope::global,
        [tell = std::move(tell)](const push_event& push) {
            if (push.type == push_event::kind::message) tell(std::string(push.payload));
        },
        time_point::max());
    if (heard) listeners_[process] = std::move(*heard);
}

void node::stop_listening(unsigned process) {
    listeners_.erase(process);
}

void node::crash() {
    up_ = false;
    listeners_.clear();
}

void node::start(moment as_of) {
    const memory::memory_image kept = image_at(as_of);
    make_engine();
    engine_->load(kept);
    images_.clear();
    keep_image();
}

void node::start_empty() {
    make_engine();
    images_.clear();
    keep_image();
}

// It keeps running: only its history is a new one, which continues the other's.
void node::take_over(const node& from, moment as_of) {
    engine_->load(from.image_at(as_of));
    const std::string before = from.history();
    history_ = fmt::format("{:016x}{:016x}{:08x}", chance_.below(UINT64_MAX),
                           chance_.below(UINT64_MAX), chance_.below(UINT32_MAX));
    engine_->replicates(history_, before);
    images_.clear();
    keep_image();
    is_master = true;
}

}  // namespace holdfast::sim
