// SPDX-License-Identifier: Apache-2.0
#include "commands/bench/rounds.hpp"

#include <algorithm>
#include <functional>
#include <utility>

namespace holdfast::app {

double measured_round::per_second() const {
    return static_cast<double>(seen.done) / seen.seconds;
}

result<measured_round> measure_round(const bench_engine& engine, worker_setup setup,
                                     const worker_plan& plan) {
    std::optional<server_account> before;
    setup.when_ready = [&] { before = engine.account(); };
    auto found = run_workers(engine.url, setup, plan);
    if (!found) return std::unexpected(std::move(found.error()));
    if (found->done == 0) return fail(errc::unavailable, "nothing was done in a whole round");
    measured_round out{.seen = std::move(*found)};
    if (const auto after = engine.account(); after && before) {
        out.server_cpu_us =
            (after->cpu_seconds - before->cpu_seconds) * 1e6 / static_cast<double>(out.seen.done);
    }
    return out;
}

void round_log::add(const measured_round& ours) {
    const worker_result& seen = ours.seen;
    const auto count = static_cast<double>(seen.done);
    rates_.push_back(ours.per_second());
    client_cpu_.push_back(seen.cpu_seconds * 1e6 / count);
    if (ours.server_cpu_us) server_cpu_.push_back(*ours.server_cpu_us);
    if (seen.commands) commands_.push_back(static_cast<double>(*seen.commands) / count);
    latency_us_.insert(latency_us_.end(), seen.acquire_us.begin(), seen.acquire_us.end());
    per_worker_.resize(seen.per_worker.size());
    std::ranges::transform(per_worker_, seen.per_worker, per_worker_.begin(), std::plus{});
}

void round_log::add(double per_second, double server_cpu_us) {
    rates_.push_back(per_second);
    server_cpu_.push_back(server_cpu_us);
}

void round_log::add_reference(double per_second, std::optional<double> server_cpu_us) {
    references_.push_back(per_second);
    ratios_.push_back(rates_.back() / per_second);
    if (server_cpu_us) reference_cpu_.push_back(*server_cpu_us);
}

void round_log::add_reference(const measured_round& reference) {
    add_reference(reference.per_second(), reference.server_cpu_us);
    reference_client_cpu_.push_back(reference.seen.cpu_seconds * 1e6 /
                                    static_cast<double>(reference.seen.done));
    const auto& all = reference.seen.acquire_us;
    reference_us_.insert(reference_us_.end(), all.begin(), all.end());
}

figure round_log::summary(figure known, std::string reference) {
    known.per_second = median(rates_);
    known.client_cpu_us = median_if_any(client_cpu_);
    known.server_cpu_us = median_if_any(server_cpu_);
    known.commands_per_op = median_if_any(commands_);
    if (!latency_us_.empty()) known.acquire_us = percentiles_of(latency_us_);
    if (!per_worker_.empty()) {
        const auto [least, most] = std::ranges::minmax(per_worker_);
        known.per_worker = extent{least, most};
    }
    if (references_.empty()) return known;
    known.reference =
        reference_rate{std::move(reference), median(references_), median_if_any(reference_cpu_)};
    known.ratio = median(ratios_);
    known.ratio_rounds = spread_of(ratios_);
    known.reference->client_cpu_us = median_if_any(reference_client_cpu_);
    if (!reference_us_.empty()) {
        known.reference->p99_us = percentiles_of(reference_us_).p99;
        if (known.acquire_us) known.p99_ratio = known.acquire_us->p99 / *known.reference->p99_us;
    }
    if (reference_cpu_.size() == server_cpu_.size() && !server_cpu_.empty()) {
        std::vector<double> each;
        for (std::size_t i = 0; i < server_cpu_.size(); ++i) {
            if (reference_cpu_[i] > 0) each.push_back(server_cpu_[i] / reference_cpu_[i]);
        }
        known.server_cpu_ratio = median_if_any(each);
    }
    return known;
}

}  // namespace holdfast::app
