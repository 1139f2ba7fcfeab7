// SPDX-License-Identifier: Apache-2.0
#include <holdfast/prometheus.hpp>

#include <holdfast/names.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <iterator>
#include <string_view>

namespace holdfast {
namespace {

bool letter(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

bool label_name(std::string_view text) {
    return !text.empty() && letter(text.front()) &&
           std::ranges::all_of(text, [](char c) { return letter(c) || (c >= '0' && c <= '9'); });
}

result<void> fit(std::span<const metric_label> labels) {
    for (auto at = labels.begin(); at != labels.end(); ++at) {
        const std::string& name = at->name;
        const auto refuse = [&](std::string_view why) {
            return fail(errc::invalid_argument, fmt::format("label '{}' {}", name, why));
        };
        if (!label_name(name))
            return refuse("is not a name: letters, digits and _, no digit first");
        if (name.starts_with("__"))
            return refuse("starts with __, which Prometheus keeps for itself");
        if (name == "le" || name == "reason" || name == "mode")
            return refuse("is used by the metrics themselves");
        if (std::find_if(labels.begin(), at, [&](const auto& l) { return l.name == name; }) != at) {
            return refuse("comes twice");
        }
        if (!is_utf8(at->value)) return refuse("has a value that is not UTF-8");
    }
    return {};
}

std::string escaped(std::string_view value) {
    std::string out;
    for (const char c : value) {
        switch (c) {
            case '\\': out += "\\\\"; break;
            case '"': out += "\\\""; break;
            case '\n': out += "\\n"; break;
            default: out += c;
        }
    }
    return out;
}

double seconds(duration d) {
    return std::chrono::duration<double>(d).count();
}

/// Writes one metric after the other; every sample bears the user's labels.
class exposition {
public:
    explicit exposition(std::span<const metric_label> labels) {
        for (const metric_label& label : labels) {
            fmt::format_to(std::back_inserter(labels_), "{}{}=\"{}\"", labels_.empty() ? "" : ",",
                           label.name, escaped(label.value));
        }
    }

    void describe(std::string_view name, std::string_view type, std::string_view help) {
        fmt::format_to(std::back_inserter(text_),
                       "# HELP holdfast_{0} {2}\n# TYPE holdfast_{0} {1}\n", name, type, help);
    }
    void counter(std::string_view name, std::uint64_t value, std::string_view help) {
        describe(name, "counter", help);
        sample(name, "", value);
    }
    void gauge(std::string_view name, std::uint64_t value, std::string_view help) {
        describe(name, "gauge", help);
        sample(name, "", value);
    }
    void histogram(std::string_view name, const duration_histogram& seen, std::string_view help) {
        describe(name, "histogram", help);
        const std::string bucket = fmt::format("{}_bucket", name);
        std::uint64_t below = 0;
        for (std::size_t i = 0; i + 1 < duration_histogram::buckets; ++i) {
            below += seen.counts[i];
            sample(bucket, fmt::format("le=\"{}\"", seconds(duration_histogram::below(i))), below);
        }
        below += seen.counts.back();
        sample(bucket, "le=\"+Inf\"", below);
        sample(fmt::format("{}_sum", name), "", seconds(seen.sum));
        sample(fmt::format("{}_count", name), "", below);
    }
    template <class Number>
    void sample(std::string_view name, std::string_view own, Number value) {
        auto out = std::back_inserter(text_);
        fmt::format_to(out, "holdfast_{}", name);
        if (!labels_.empty() || !own.empty()) {
            const bool both = !labels_.empty() && !own.empty();
            fmt::format_to(out, "{{{}{}{}}}", labels_, both ? "," : "", own);
        }
        fmt::format_to(out, " {}\n", value);
    }

    [[nodiscard]] std::string take() { return std::move(text_); }

private:
    std::string labels_;
    std::string text_;
};

void losses(exposition& out, const loss_counts& lost) {
    out.describe("leases_lost_total", "counter", "Leases lost, by reason.");
    const auto one = [&](std::string_view reason, std::uint64_t count) {
        out.sample("leases_lost_total", fmt::format("reason=\"{}\"", reason), count);
    };
    one("expired", lost.expired);
    one("missing", lost.missing);
    one("evicted", lost.evicted);
    one("max_hold", lost.max_hold);
    one("closed", lost.closed);
}

void waiting(exposition& out, const waiting_counts& now) {
    out.describe("acquires_waiting", "gauge", "Acquires that wait now, by mode.");
    const auto one = [&](std::string_view mode, std::uint64_t count) {
        out.sample("acquires_waiting", fmt::format("mode=\"{}\"", mode), count);
    };
    one("exclusive", now.exclusive);
    one("shared", now.shared);
    one("permit", now.permit);
}

}  // namespace

result<std::string> to_prometheus(const client_statistics& seen,
                                  std::span<const metric_label> labels) {
    if (const auto good = fit(labels); !good) return std::unexpected(good.error());
    exposition out(labels);
    out.counter("leases_acquired_total", seen.acquired, "Leases granted.");
    out.counter("leases_waited_total", seen.waited, "Leases granted after a wait.");
    out.counter("leases_handed_off_total", seen.handed_off,
                "Leases that the release before handed off.");
    out.counter("leases_passed_on_total", seen.passed_on,
                "Leases passed on inside the process, without a trip.");
    out.counter("acquires_refused_total", seen.refused,
                "Acquires that ended busy, timed out or cancelled.");
    out.counter("acquires_failed_total", seen.failed, "Acquires that failed in the engine.");
    out.counter("leases_released_total", seen.released, "Leases released.");
    out.counter("renewals_total", seen.renewed, "Renewals that succeeded.");
    out.counter("renewal_failures_total", seen.renewal_failures,
                "Renewals that did not succeed; each is tried again.");
    out.counter("clock_steps_total", seen.clock_steps,
                "How often an engine's clock was found to have been set.");
    losses(out, seen.lost_by_reason);
    out.gauge("leases_held", seen.held, "Leases held now.");
    waiting(out, seen.waiting_by_mode);
    out.histogram("waiting_seconds", seen.waiting_time,
                  "Waiting time of acquires that waited and were granted.");
    out.histogram("renewal_slack_seconds", seen.renewal_slack,
                  "How long before its deadline a renewal came.");
    out.counter("observations_dropped_total", seen.observations_dropped,
                "Events that the observer was too slow for.");
    out.counter("leases_left_to_ttl_total", seen.left_to_ttl,
                "Leases that could not be released and end after their ttl.");
    return out.take();
}

}  // namespace holdfast
