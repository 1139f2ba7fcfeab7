// SPDX-License-Identifier: Apache-2.0
#include "commands/serve/service_metrics.hpp"

#include <fmt/format.h>

#include <iterator>

namespace holdfast::app {
namespace {

enum class figure_kind : bool { counter, gauge };

void put_figure(std::string& out, std::string_view name, std::string_view help, figure_kind kind,
                std::uint64_t value) {
    fmt::format_to(std::back_inserter(out),
                   "# HELP holdfast_{0} {1}\n# TYPE holdfast_{0} {2}\nholdfast_{0} {3}\n", name,
                   help, kind == figure_kind::gauge ? "gauge" : "counter", value);
}

}  // namespace

std::string metrics_text(const push::counters& push, const net::server_counters& net,
                         std::uint64_t log_lines) {
    std::string out;
    for (const auto& one : read(push)) {
        put_figure(out, one.name, one.help, one.gauge ? figure_kind::gauge : figure_kind::counter,
                   one.value);
    }
    const auto count = [&out](std::string_view name, std::string_view help, std::uint64_t value) {
        put_figure(out, name, help, figure_kind::counter, value);
    };
    const auto gauge = [&out](std::string_view name, std::string_view help, std::uint64_t value) {
        put_figure(out, name, help, figure_kind::gauge, value);
    };
    count("http_accepted_total", "Connections accepted.", net.accepted);
    count("http_turned_away_total", "Connections and requests beyond the bounds.", net.turned_away);
    gauge("http_connections", "Connections now.", net.connections);
    gauge("http_websockets", "WebSockets now.", net.websockets);
    count("http_requests_total", "Requests read.", net.requests);
    count("http_refused_total", "Requests and frames refused.", net.refused);
    count("http_timed_out_total", "Connections that were too slow or silent.", net.timed_out);
    count("http_sent_bytes_total", "Bytes given to the kernel.", net.bytes_out);
    count("http_send_calls_total", "System calls that sent them.", net.send_calls);
    count("http_frames_total", "WebSocket messages queued.", net.frames_out);
    count("log_lines_total", "Lines logged.", log_lines);
    return out;
}

std::string queue_metric(std::uint64_t length) {
    std::string out;
    put_figure(out, "push_queue_length", "Posts that wait for a broadcast.", figure_kind::gauge,
               length);
    return out;
}

}  // namespace holdfast::app
