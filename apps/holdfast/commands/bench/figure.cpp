// SPDX-License-Identifier: Apache-2.0
#include "commands/bench/figure.hpp"

#include "core/json_text.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <string_view>

namespace holdfast::app {
namespace {

void put(detail::json_object& to, std::string_view name, const std::optional<percentiles>& value) {
    if (!value) return;
    detail::json_object inner;
    inner.put("p50", value->p50);
    inner.put("p99", value->p99);
    inner.put("max", value->max);
    to.raw(name, inner.text());
}

// 1234567 as "1 234 567".
std::string grouped(double number) {
    std::string digits = fmt::format("{:.0f}", number);
    for (int at = static_cast<int>(digits.size()) - 3; at > 0; at -= 3) {
        digits.insert(static_cast<std::size_t>(at), 1, ' ');
    }
    return digits;
}

std::string microseconds(double us) {
    return us < 100 ? fmt::format("{:.2f} us", us) : fmt::format("{:.0f} us", us);
}

class rows {
public:
    void add(std::string_view name, const std::string& value, std::string_view remark = "") {
        text_ +=
            fmt::format("  {:<18} {:>12}{}{}\n", name, value, remark.empty() ? "" : "   ", remark);
    }
    void add(std::string_view name, const std::optional<percentiles>& value) {
        if (!value) return;
        const std::string longest =
            value->max ? fmt::format(", longest {}", microseconds(*value->max)) : "";
        add(name, microseconds(value->p50),
            fmt::format("p99 {}{}", microseconds(value->p99), longest));
    }
    [[nodiscard]] const std::string& text() const { return text_; }

private:
    std::string text_;
};

void add_cpu(rows& out, const figure& f) {
    if (f.client_cpu_us) {
        const bool both = f.reference && f.reference->client_cpu_us;
        out.add("client CPU each", microseconds(*f.client_cpu_us),
                both ? fmt::format("reference {}", microseconds(*f.reference->client_cpu_us)) : "");
    }
    if (f.server_cpu_us) {
        const bool both = f.reference && f.reference->server_cpu_us;
        out.add("server CPU each", microseconds(*f.server_cpu_us),
                both ? fmt::format("reference {}", microseconds(*f.reference->server_cpu_us)) : "");
    }
    if (f.server_cpu_ratio) {
        out.add("", fmt::format("{:.2f} x", *f.server_cpu_ratio), "the reference");
    }
}

}  // namespace

std::string to_json(const figure& f) {
    detail::json_object out;
    out.put("bench", f.bench);
    out.put("engine", f.engine);
    out.put("workers", std::optional(f.workers));
    out.put("seconds", f.seconds);
    if (f.cpus) out.put("cpus", std::string_view(*f.cpus));
    out.put("per_second", f.per_second);
    if (f.reference) {
        detail::json_object inner;
        inner.put("name", f.reference->name);
        inner.put("per_second", f.reference->per_second);
        inner.put("server_cpu_us", f.reference->server_cpu_us);
        inner.put("acquire_us", f.reference->acquire_us);
        inner.put("pair_us", f.reference->pair_us);
        inner.put("by_hand_pair_us", f.reference->by_hand_pair_us);
        inner.put("client_cpu_us", f.reference->client_cpu_us);
        inner.put("p99_us", f.reference->p99_us);
        out.raw("reference", inner.text());
    }
    out.put("ratio", f.ratio);
    if (f.ratio_rounds) {
        detail::json_object inner;
        inner.put("min", f.ratio_rounds->min);
        inner.put("max", f.ratio_rounds->max);
        out.raw("ratio_rounds", inner.text());
    }
    if (f.disturbed) {
        out.put("stolen_cpus", std::optional(f.disturbed->stolen_cpus));
        out.put("rounds_again", std::optional(f.disturbed->rounds_again));
    }
    if (f.latency_ratio) {
        detail::json_object inner;
        inner.put("acquire", f.latency_ratio->acquire);
        inner.put("pair", f.latency_ratio->pair);
        inner.put("pair_by_hand", f.latency_ratio->pair_by_hand);
        out.raw("latency_ratio", inner.text());
    }
    out.put("client_cpu_us", f.client_cpu_us);
    out.put("server_cpu_us", f.server_cpu_us);
    out.put("server_cpu_ratio", f.server_cpu_ratio);
    out.put("p99_ratio", f.p99_ratio);
    detail::json_object latency;
    put(latency, "acquire", f.acquire_us);
    put(latency, "release", f.release_us);
    put(latency, "pair", f.pair_us);
    put(latency, "handoff", f.handoff_us);
    put(latency, "writer_wait", f.writer_wait_us);
    if (!latency.empty()) out.raw("latency_us", latency.text());
    if (f.per_worker) {
        out.raw("per_worker",
                fmt::format("{{\"min\": {}, \"max\": {}}}", f.per_worker->min, f.per_worker->max));
    }
    out.put("commands_per_op", f.commands_per_op);
    out.put("value_bytes", f.value_bytes);
    out.put("leases", f.leases);
    out.put("cpu_percent", f.cpu_percent);
    out.put("renewed", f.renewed);
    out.put("lost", f.lost);
    out.put("least_slack_ms", f.least_slack_ms);
    out.put("handoff_round_trips", f.handoff_round_trips);
    out.put("reader_hold_us", f.reader_hold_us);
    out.put("writer_bound_us", f.writer_bound_us);
    return out.text();
}

std::string to_table(const figure& f) {
    rows out;
    if (f.per_second) out.add("per second", grouped(*f.per_second));
    if (f.reference) {
        out.add("reference", grouped(f.reference->per_second), f.reference->name);
    }
    if (f.ratio) {
        const auto rounds = f.ratio_rounds.value_or(spread{*f.ratio, *f.ratio});
        out.add("ratio", fmt::format("{:.2f}", *f.ratio),
                fmt::format("median of rounds from {:.2f} to {:.2f}", rounds.min, rounds.max));
    }
    if (f.disturbed && (f.disturbed->stolen_cpus >= 0.01 || f.disturbed->rounds_again > 0)) {
        out.add("stolen", fmt::format("{:.2f}", f.disturbed->stolen_cpus),
                fmt::format("of a processor, by the host; measured again: {}",
                            f.disturbed->rounds_again));
    }
    if (f.latency_ratio && f.latency_ratio->acquire) {
        out.add("acquire p50", fmt::format("{:.2f} x", *f.latency_ratio->acquire), "the reference");
    }
    if (f.latency_ratio) {
        out.add("pair p50", fmt::format("{:.2f} x", f.latency_ratio->pair), "the reference");
    }
    if (f.latency_ratio && f.latency_ratio->pair_by_hand) {
        out.add("", fmt::format("{:.2f} x", *f.latency_ratio->pair_by_hand),
                "one name by blocking hiredis, on one Redis");
    }
    add_cpu(out, f);
    out.add("acquire", f.acquire_us);
    if (f.p99_ratio) {
        out.add("p99", fmt::format("{:.2f} x", *f.p99_ratio),
                fmt::format("the reference, {}", microseconds(*f.reference->p99_us)));
    }
    out.add("release", f.release_us);
    out.add("pair", f.pair_us);
    out.add("handoff", f.handoff_us);
    if (f.handoff_round_trips) {
        out.add("", fmt::format("{:.2f} round trips", *f.handoff_round_trips));
    }
    out.add("writer waited", f.writer_wait_us);
    if (f.reader_hold_us) out.add("readers held it", microseconds(*f.reader_hold_us), "mean");
    if (f.writer_bound_us) {
        out.add("bound", microseconds(*f.writer_bound_us), "5 x that, and 3 round trips");
    }
    if (f.per_worker) {
        out.add("each worker",
                fmt::format("{} to {}", grouped(static_cast<double>(f.per_worker->min)),
                            grouped(static_cast<double>(f.per_worker->max))));
    }
    if (f.commands_per_op) out.add("commands each", fmt::format("{:.2f}", *f.commands_per_op));
    if (f.value_bytes) out.add("value", fmt::format("{:.0f} bytes", *f.value_bytes), "for a key");
    if (f.leases) out.add("leases", grouped(*f.leases));
    if (f.cpu_percent) out.add("CPU", fmt::format("{:.1f} %", *f.cpu_percent), "of one core");
    if (f.renewed) out.add("renewed", grouped(static_cast<double>(*f.renewed)));
    if (f.lost) out.add("lost", grouped(static_cast<double>(*f.lost)));
    if (f.least_slack_ms) {
        out.add("least slack", fmt::format("{:.0f} ms", *f.least_slack_ms),
                "before a lease would have been lost");
    }
    return fmt::format("{} on {}, {} worker{}, {:.1f} s\n{}", f.bench, f.engine, f.workers,
                       f.workers == 1 ? "" : "s", f.seconds, out.text());
}

percentiles percentiles_of(std::vector<float>& values) {
    if (values.empty()) return {};
    std::ranges::sort(values);
    const auto at = [&](std::size_t percent) {
        return static_cast<double>(
            values[std::min(values.size() * percent / 100, values.size() - 1)]);
    };
    return {at(50), at(99)};
}

double median(std::vector<double> values) {
    if (values.empty()) return 0;
    std::ranges::sort(values);
    const std::size_t middle = values.size() / 2;
    if (values.size() % 2 == 1) return values[middle];
    return (values[middle - 1] + values[middle]) / 2;
}

std::optional<double> median_if_any(const std::vector<double>& values) {
    return values.empty() ? std::nullopt : std::optional(median(values));
}

spread spread_of(const std::vector<double>& values) {
    const auto [least, most] = std::ranges::minmax(values);
    return {least, most};
}

}  // namespace holdfast::app
