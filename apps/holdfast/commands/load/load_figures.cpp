// SPDX-License-Identifier: Apache-2.0
#include "commands/load/load_figures.hpp"

#include "core/json_text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <iterator>

namespace holdfast::app {
namespace {

double percentile(const std::vector<double>& sorted, double part) {
    if (sorted.empty()) return 0;
    const auto at = static_cast<std::size_t>(part * static_cast<double>(sorted.size()));
    return sorted[std::min(at, sorted.size() - 1)];
}

}  // namespace

delay_figures delays_of(std::vector<double>& samples_ms) {
    std::ranges::sort(samples_ms);
    return {.p50_ms = percentile(samples_ms, 0.50),
            .p90_ms = percentile(samples_ms, 0.90),
            .p99_ms = percentile(samples_ms, 0.99),
            .max_ms = samples_ms.empty() ? 0 : samples_ms.back(),
            .samples = samples_ms.size()};
}

double load_figures::deliveries_per_second() const {
    return seconds > 0 ? static_cast<double>(delivered) / seconds : 0;
}

std::optional<double> load_figures::ratio() const {
    if (!limit || limit->deliveries_per_second <= 0) return std::nullopt;
    return deliveries_per_second() / limit->deliveries_per_second;
}

std::string to_text(const load_figures& seen) {
    std::string out;
    const auto put = [&out](std::string_view name, const std::string& value) {
        fmt::format_to(std::back_inserter(out), "{:<22}{}\n", name, value);
    };
    put("viewers",
        fmt::format("{} in {} room{}", seen.viewers, seen.rooms, seen.rooms == 1 ? "" : "s"));
    put("sent", fmt::format("{} in {:.1f} s, {} refused", seen.sent, seen.seconds, seen.refused));
    put("delivered", fmt::format("{} ({:.0f}/s) in {} frames", seen.delivered,
                                 seen.deliveries_per_second(), seen.frames));
    put("frames per viewer", fmt::format("{:.2f}/s", seen.frames_per_viewer_second));
    put("lost", std::to_string(seen.lost));
    put("doubled", std::to_string(seen.doubled));
    put("out of order", std::to_string(seen.out_of_order));
    put("shed", std::to_string(seen.shed));
    put("closed early", std::to_string(seen.closed));
    put("bytes", fmt::format("{} ({:.1f} per delivery)", seen.bytes,
                             seen.delivered == 0 ? 0.0
                                                 : static_cast<double>(seen.bytes) /
                                                       static_cast<double>(seen.delivered)));
    if (seen.delay.samples > 0) {
        put("delay", fmt::format("p50 {:.1f} ms, p90 {:.1f} ms, p99 {:.1f} ms, max {:.1f} ms",
                                 seen.delay.p50_ms, seen.delay.p90_ms, seen.delay.p99_ms,
                                 seen.delay.max_ms));
    }
    if (seen.kib_per_connection) {
        put("memory", fmt::format("{:.1f} KiB per connection", *seen.kib_per_connection));
    }
    if (seen.send_calls_per_frame) {
        put("system calls", fmt::format("{:.2f} per frame", *seen.send_calls_per_frame));
    }
    if (seen.limit) {
        put("minimal loop", fmt::format("{:.0f} deliveries/s", seen.limit->deliveries_per_second));
        put("ratio", fmt::format("{:.2f}", seen.ratio().value_or(0)));
    }
    return out;
}

std::string to_json(const load_figures& seen) {
    detail::json_object out;
    out.put("viewers", seen.viewers);
    out.put("rooms", seen.rooms);
    out.put("seconds", seen.seconds);
    out.put("sent", seen.sent);
    out.put("refused", seen.refused);
    out.put("frames", seen.frames);
    out.put("delivered", seen.delivered);
    out.put("deliveries_per_second", seen.deliveries_per_second());
    out.put("frames_per_viewer_second", seen.frames_per_viewer_second);
    out.put("lost", seen.lost);
    out.put("doubled", seen.doubled);
    out.put("out_of_order", seen.out_of_order);
    out.put("shed", seen.shed);
    out.put("closed", seen.closed);
    out.put("bytes", seen.bytes);
    out.put("delay_p50_ms", seen.delay.p50_ms);
    out.put("delay_p90_ms", seen.delay.p90_ms);
    out.put("delay_p99_ms", seen.delay.p99_ms);
    out.put("delay_max_ms", seen.delay.max_ms);
    out.put("kib_per_connection", seen.kib_per_connection);
    out.put("send_calls_per_frame", seen.send_calls_per_frame);
    if (seen.limit) {
        out.put("limit_deliveries_per_second", seen.limit->deliveries_per_second);
        out.put("ratio", seen.ratio());
    }
    std::vector<std::string> each;
    for (const auto one : seen.delivered_each_second) each.push_back(std::to_string(one));
    out.raw("delivered_each_second", detail::json_array(each));
    return out.text();
}

// Deliveries over time, a bar for each second.
result<void> plot(const load_figures& seen, const std::string& file) {
    constexpr int width = 720;
    constexpr int height = 240;
    std::string bars;
    const auto& each = seen.delivered_each_second;
    const std::uint64_t most =
        each.empty() ? 1 : std::max<std::uint64_t>(1, *std::ranges::max_element(each));
    const double step = static_cast<double>(width) / std::max<double>(1, double(each.size()));
    for (std::size_t i = 0; i < each.size(); ++i) {
        const double tall =
            static_cast<double>(each[i]) / static_cast<double>(most) * (height - 40);
        fmt::format_to(std::back_inserter(bars),
                       R"(<rect x="{:.1f}" y="{:.1f}" width="{:.1f}" height="{:.1f}"/>)"
                       "\n",
                       static_cast<double>(i) * step + 1, height - tall, step - 2, tall);
    }
    std::ofstream out(file);
    out << fmt::format(
        R"(<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {0} {1}" fill="#37c">)"
        "\n"
        R"(<text x="4" y="16" fill="#333" font-family="sans-serif" font-size="13">)"
        "{2} viewers: {3:.0f} deliveries/s, most {4} in a second; delay p50 {5:.1f} ms, "
        "p99 {6:.1f} ms; {7} lost</text>\n{8}</svg>\n",
        width, height, seen.viewers, seen.deliveries_per_second(), most, seen.delay.p50_ms,
        seen.delay.p99_ms, seen.lost, bars);
    out.flush();
    if (out) return {};
    return fail(errc::unavailable, fmt::format("cannot write {}", file));
}

}  // namespace holdfast::app
