// SPDX-License-Identifier: Apache-2.0
//
// holdfast load: viewers and senders against a server of live push, and what came of it.
#include "command_line.hpp"
#include "commands/load/beast_loop.hpp"
#include "commands/load/load_figures.hpp"
#include "commands/load/load_senders.hpp"
#include "commands/load/load_target.hpp"
#include "commands/load/viewer_swarm.hpp"
#include "error_output.hpp"
#include "option_types.hpp"
#include "terminal.hpp"

#include <holdfast/engine/span_text.hpp>
#include <holdfast/entropy.hpp>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include <condition_variable>
#include <fstream>
#include <limits>
#include <memory>
#include <mutex>

namespace holdfast::app {
namespace {

struct load_options {
    std::string url;
    std::string token_file;
    int viewers = 100;
    int rooms = 1;
    int senders = 4;
    int batch = 1;
    int size = 64;
    int rate = 100;
    duration time = std::chrono::seconds(5);
    std::string mode = "coalesce";
    duration cooldown = std::chrono::seconds(1);
    std::string engine = "memory:";
    bool limit = false;
    std::string format = "text";
    std::string plot;
};

void wait_for(duration time) {
    std::mutex mutex;
    std::condition_variable nobody;
    std::unique_lock held(mutex);
    const time_point end = system_clock().now() + time;
    while (system_clock().now() < end) system_clock().wait_until(held, nobody, end);
}

// A line on stderr each second.
void show_progress(duration time, const std::function<std::string()>& what) {
    const bool bar = terminal::of(STDERR_FILENO).interactive();
    for (duration left = time; left > duration::zero();) {
        const duration step = std::min<duration>(left, std::chrono::seconds(1));
        wait_for(step);
        left -= step;
        fmt::print(stderr, "{}{}{}", bar ? "\r\x1b[K" : "", what(), bar ? "" : "\n");
    }
    if (bar) fmt::print(stderr, "\r\x1b[K");
}

std::vector<std::string> rooms_of(const load_options& options, const std::string& run) {
    std::vector<std::string> out;
    for (int i = 0; i < options.rooms; ++i) out.push_back(fmt::format("load-{}-{}", run, i));
    return out;
}

// A frame of ours with one message, as long as those of this run.
std::string sample_frame(const load_options& options) {
    return fmt::format(
        R"({{"type":"frame","room":"load-0123456789abcdef-0","epoch":"0123456789abcdef",)"
        R"("first":100000,"last":100000,"count":1,"shed":0,"messages":[{{"offset":100000,)"
        R"("id":"0123456789abcdef-0-10000-0","userId":"0123456789abcdef-1000",)"
        R"("userName":"load","content":"{}"}}]}})",
        std::string(static_cast<std::size_t>(options.size), 'x'));
}

result<limit_figures> measure_limit(const load_options& options) {
    const auto viewers = static_cast<std::size_t>(options.viewers);
    auto loop = load_process::fork_to([&](int tell) {
        run_beast_loop({.viewers = viewers, .text = sample_frame(options), .tell_port = tell});
    });
    if (!loop) return std::unexpected(loop.error());
    viewer_swarm swarm(loop->target(), viewers, {"limit"});
    if (auto opened = swarm.open(); !opened) return std::unexpected(opened.error());
    swarm.start();
    const time_point began = system_clock().now();
    show_progress(options.time,
                  [&] { return fmt::format("minimal loop: {} deliveries", swarm.delivered()); });
    const double seconds = std::chrono::duration<double>(system_clock().now() - began).count();
    const auto delivered = static_cast<double>(swarm.delivered());
    swarm.finish({}, duration::zero());
    load_figures seen{.seconds = seconds};
    swarm.report(seen);
    return limit_figures{delivered / seconds, static_cast<double>(seen.bytes) / seconds};
}

result<std::string> token_of(const load_options& options) {
    if (options.token_file.empty()) return std::string();
    std::ifstream in(options.token_file);
    std::string line;
    if (std::getline(in, line) && !line.empty()) return line;
    return fail(errc::invalid_argument, "--token-file: cannot read a token from the file");
}

result<load_figures> measure_server(const load_options& options, const swarm_target& to,
                                    std::optional<pid_t> pid, const std::string& run) {
    const auto rooms = rooms_of(options, run);
    load_figures seen;
    const auto before = pid ? resident_kib(*pid) : std::nullopt;
    viewer_swarm swarm(to, static_cast<std::size_t>(options.viewers), rooms);
    if (auto opened = swarm.open(); !opened) return std::unexpected(opened.error());
    wait_for(std::chrono::milliseconds(300));
    if (const auto after = pid ? resident_kib(*pid) : std::nullopt; before && after) {
        seen.kib_per_connection = (*after - *before) / options.viewers;
    }
    const auto calls = metric(to, "holdfast_http_send_calls_total");
    const auto frames = metric(to, "holdfast_http_frames_total");
    load_senders senders(to,
                         {.senders = static_cast<std::size_t>(options.senders),
                          .rate = static_cast<double>(options.rate),
                          .batch = static_cast<std::size_t>(options.batch),
                          .size = static_cast<std::size_t>(options.size)},
                         rooms, run);
    swarm.start();
    const time_point began = system_clock().now();
    senders.start();
    show_progress(options.time, [&] {
        return fmt::format("{} viewers: {} sent, {} delivered in {} frames", options.viewers,
                           senders.sent(), swarm.delivered(), swarm.frames());
    });
    senders.stop();
    seen.seconds = std::chrono::duration<double>(system_clock().now() - began).count();
    swarm.finish(senders.last_offsets(), std::chrono::seconds(30));
    // What came after the last second was delivered too: the time is that of all of it.
    seen.seconds =
        std::max(seen.seconds, std::chrono::duration<double>(system_clock().now() - began).count());
    senders.report(seen);
    swarm.report(seen);
    const auto calls_now = metric(to, "holdfast_http_send_calls_total");
    const auto frames_now = metric(to, "holdfast_http_frames_total");
    if (calls && frames && calls_now && frames_now && *frames_now > *frames) {
        seen.send_calls_per_frame = (*calls_now - *calls) / (*frames_now - *frames);
    }
    return seen;
}

result<load_figures> measure(const load_options& options) {
    const std::string run =
        fmt::format("{:016x}", system_entropy().below(std::numeric_limits<std::uint64_t>::max()));
    std::optional<limit_figures> limit;
    if (options.limit) {
        auto measured = measure_limit(options);
        if (!measured) return std::unexpected(measured.error());
        limit = *measured;
    }
    std::optional<load_process> own;
    swarm_target to;
    if (options.url.empty()) {
        auto started = load_process::serve(
            {"holdfast",       "serve",
             "--listen",       "127.0.0.1:0",
             "--quiet",        "on",
             "--engine",       options.engine,
             "--mode",         options.mode,
             "--cooldown",     show_span(options.cooldown),
             "--user-rate",    "off",
             "--room-rate",    "off",
             "--address-rate", "off",
             "--connections",  std::to_string(options.viewers + options.senders + 100)});
        if (!started) return std::unexpected(started.error());
        own.emplace(std::move(*started));
        to = own->target();
    } else {
        auto target = parse_target(options.url);
        if (!target) return std::unexpected(target.error());
        to = std::move(*target);
    }
    auto token = token_of(options);
    if (!token) return std::unexpected(token.error());
    to.bearer = std::move(*token);
    auto seen = measure_server(options, to, own ? std::optional(own->pid()) : std::nullopt, run);
    if (seen) seen->limit = limit;
    return seen;
}

exit_code load(const load_options& options) {
    const auto seen = measure(options);
    if (!seen) return complain(seen.error());
    fmt::print("{}", options.format == "json" ? to_json(*seen) + "\n" : to_text(*seen));
    if (!options.plot.empty()) {
        if (auto drawn = plot(*seen, options.plot); !drawn) return complain(drawn.error());
    }
    const bool whole = seen->lost == 0 && seen->doubled == 0 && seen->out_of_order == 0;
    return whole ? exit_code::success : exit_code::failure;
}

}  // namespace

void add_load(CLI::App& to, command_list& all) {
    const auto o = std::make_shared<load_options>();
    CLI::App* const words = to.add_subcommand("load", "Load a live push server, and count");
    words->group("");  // beside serve: the overview has room for one screen
    words->add_option("URL", o->url, "http://host:8090; without one, a server of its own");
    add_whole(*words, "--viewers", o->viewers, {1, 1'000'000}, "Connections that view");
    add_whole(*words, "--rooms", o->rooms, {1, 100'000}, "Rooms that they are spread over");
    add_whole(*words, "--senders", o->senders, {1, 1000}, "Connections that send");
    add_whole(*words, "--rate", o->rate, {0, 10'000'000}, "Messages a second; 0: all there is");
    add_whole(*words, "--batch", o->batch, {1, 100}, "Messages in one post");
    add_whole(*words, "--size", o->size, {32, 4000}, "Bytes of a message");
    add_span(*words, "--time", o->time, "How long", std::chrono::milliseconds(100));
    add_choice(*words, "--mode", o->mode, {"coalesce", "drop", "latest", "none"},
               "Of its own server");
    add_span(*words, "--cooldown", o->cooldown, "Of its own server", std::chrono::milliseconds(1));
    add_text(*words, "--engine", o->engine, "Of its own server");
    words->add_option("--token-file", o->token_file, "The server's token")->type_name("FILE");
    words->add_flag("--limit", o->limit, "Measure a minimal loop first, and the ratio to it");
    add_choice(*words, "--format", o->format, {"text", "json"}, "For people, or for programs");
    words->add_option("--plot", o->plot, "Draw deliveries over time (SVG)")->type_name("FILE");
    words->footer("Exit codes: 0 nothing lost or doubled, 1 something was, 5 no server\n");
    all.push_back({words, [o] { return load(*o); }});
}

}  // namespace holdfast::app
