// SPDX-License-Identifier: Apache-2.0
#include "commands/serve/ops_series.hpp"

#include <algorithm>
#include <utility>

namespace holdfast::app {

void ops_series::put(const series_values& now) {
    const series_values before = std::exchange(last_, now);
    if (!std::exchange(begun_, true)) return;
    series_values sample = now;
    for (std::size_t i = 0; i < series_counters; ++i) sample[i] -= std::min(before[i], now[i]);
    kept_.push_back(sample);
    if (kept_.size() <= keep_) return;
    kept_.pop_front();
    ++first_;
}

ops_series::part ops_series::read(std::uint64_t since) const {
    part out{.next = first_ + kept_.size(), .samples = {}};
    // One that is ahead of us has heard another process: all of it is new to it.
    const std::uint64_t from = since > out.next ? first_ : std::max(since, first_);
    out.samples.assign(kept_.begin() + static_cast<std::ptrdiff_t>(from - first_), kept_.end());
    return out;
}

std::uint64_t ops_series::grown(std::size_t which, std::size_t samples) const {
    std::uint64_t sum = 0;
    const std::size_t many = std::min(samples, kept_.size());
    for (std::size_t i = kept_.size() - many; i < kept_.size(); ++i) sum += kept_[i][which];
    return sum;
}

}  // namespace holdfast::app
