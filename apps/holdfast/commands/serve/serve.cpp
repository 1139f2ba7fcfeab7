// SPDX-License-Identifier: Apache-2.0
//
// holdfast serve: live push, all of it or one of its roles, until a signal ends it.
#include "command_line.hpp"
#include "commands/doctor/examinations.hpp"
#include "commands/serve/push_service.hpp"
#include "commands/serve/serve_settings.hpp"
#include "commands/serve/service_log.hpp"
#include "error_output.hpp"
#include "process/signal_inbox.hpp"
#include "terminal.hpp"
#ifdef HOLDFAST_APP_DEMO
#include "resp/resp_server.hpp"
#endif

#include <holdfast/client.hpp>
#include <holdfast/engine/url.hpp>

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <poll.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <memory>
#include <string_view>

namespace holdfast::app {
namespace {

struct serve_words {
    std::string config;
    std::vector<given_setting> given;
    bool print_settings = false;
};

// What --help shows; the others are in the table that --print-settings prints.
constexpr std::array<std::string_view, 9> everyday{"role",       "engine",   "listen",
                                                   "redis_port", "token",    "consumers",
                                                   "mode",       "cooldown", "lock_life"};

// Waits for a signal that asks to end; nothing if `wait` is over before.
std::optional<int> next_end(signal_inbox& signals, duration wait) {
    const auto ms = std::chrono::ceil<std::chrono::milliseconds>(wait).count();
    pollfd one{.fd = signals.readable(), .events = POLLIN, .revents = 0};
    ::poll(&one, 1, wait == duration::max() ? -1 : static_cast<int>(ms));
    while (const auto signal = signals.next()) {
        if (asks_to_end(*signal)) return signal;
    }
    return std::nullopt;
}

// Returns false if a second signal came.
bool drain_service(push_service& service, signal_inbox& signals, duration most) {
    constexpr duration look = std::chrono::milliseconds(20);
    service.begin_drain();
    for (duration waited{}; waited < most && !service.drained(); waited += look) {
        if (next_end(signals, look)) return false;
    }
    return true;
}

log_form form_of(const serve_settings& settings) {
    if (settings.log == "json") return log_form::json;
    if (settings.log == "text") return log_form::text;
    return terminal::of(STDERR_FILENO).interactive() ? log_form::text : log_form::json;
}

std::string url_of(const serve_settings& settings, std::uint16_t port) {
    const std::string host = settings.listen.substr(0, settings.listen.rfind(':'));
    return fmt::format("http://{}:{}/", host == "0.0.0.0" ? "127.0.0.1" : host, port);
}

// The doctor compares with locks between processes; of memory: only one process is expected here.
findings examine(const std::string& url) {
    if (url.starts_with("memory:")) {
        return {{finding::level::good, "engine", url, "it is inside this process, and answers", ""},
                {finding::level::note, "engine", url,
                 "what it holds ends with the process, and no other process can share it",
                 "take --engine redis://host for several processes"}};
    }
    auto found = examine_engine(url);
    if (found) return std::move(*found);
    return {{finding::level::unsafe, "engine", redacted(url), found.error().detail, ""}};
}

#ifdef HOLDFAST_APP_DEMO
using redis_face = std::unique_ptr<resp_server>;

// The keys of the embedded engine for redis-cli; nothing if none is wanted.
result<redis_face> serve_redis_clients(const client& engine, const serve_settings& settings) {
    if (!settings.redis_port) return redis_face();
    return resp_server::start(engine.commands(), {.port = *settings.redis_port});
}
#else
struct no_server {
    static std::uint16_t port() noexcept { return 0; }
};
using redis_face = std::unique_ptr<no_server>;

result<redis_face> serve_redis_clients(const client&, const serve_settings& settings) {
    if (!settings.redis_port) return redis_face();
    return fail(errc::unsupported, "--redis-port: this build has no embedded engine");
}
#endif

void say_where(const std::string& url, const redis_face& redis) {
    fmt::print("{}\n", url);
    if (redis) fmt::print("redis-cli -p {}\n", redis->port());
    std::fflush(stdout);
}

// A room's lock is fenced by the room's own state, so it needs less than locks in general. After a
// failover a room waits for as long as its last lock can live; and a master whose replicas are all
// away goes on. An address that says quarantine= or replicas= keeps its own.
std::string engine_url(const serve_settings& settings) {
    std::string url = settings.engine;
    const std::string_view scheme = std::string_view(url).substr(0, url.find(':'));
    if (!scheme.ends_with("-sentinel") && !scheme.ends_with("-cluster")) return url;
    const auto life = std::chrono::ceil<std::chrono::milliseconds>(settings.push.lock_life);
    const auto add = [&](std::string_view name, const std::string& value) {
        if (url.find(fmt::format("{}=", name)) != std::string::npos) return;
        url += fmt::format("{}{}={}", url.contains('?') ? '&' : '?', name, value);
    };
    add("quarantine", fmt::format("{}ms", life.count()));
    add("replicas", "0");
    return url;
}

exit_code serve(const serve_words& words) {
    if (words.print_settings) {
        fmt::print("{}", settings_page());
        return exit_code::success;
    }
    auto settings = read_settings(
        words.config, [](const char* name) { return std::getenv(name); }, words.given);
    if (!settings) return complain(settings.error());
    if (const auto fits = check(*settings); !fits) return complain(fits.error());
    auto signals = signal_inbox::open();
    if (!signals) return complain(signals.error());
    auto engine = open(engine_url(*settings));
    if (!engine) return complain(engine.error());
    if (!engine->commands()) {
        complain("this engine speaks no Redis commands; say --engine memory: or redis://host");
        return exit_code::usage;
    }
    service_log log(form_of(*settings), settings->quiet);
    const auto redis = serve_redis_clients(*engine, *settings);
    if (!redis) return complain(redis.error());
    push_service service(*engine, *settings, log,
                         [url = engine_url(*settings)] { return examine(url); });
    if (const auto up = service.start(); !up) return complain(up.error());
    say_where(url_of(*settings, service.port()), *redis);
    int first = 0;
    while (first == 0) first = next_end(*signals, duration::max()).value_or(0);
    log.write(push::log_level::info, fmt::format("{}: draining", signal_name(first)));
    if (!drain_service(service, *signals, settings->drain)) {
        log.write(push::log_level::warning, "second signal: ending at once");
        std::_Exit(static_cast<int>(exit_code::failure));
    }
    service.stop();
    log.write(push::log_level::info, "ended");
    return exit_code::success;
}

}  // namespace

void add_serve(CLI::App& to, command_list& all) {
    const auto words = std::make_shared<serve_words>();
    CLI::App* const app = to.add_subcommand("serve", "Live push: rooms over HTTP and WebSocket");
    const serve_settings defaults;
    words->given.reserve(serve_table().size());
    for (const auto& one : serve_table()) {
        given_setting& slot = words->given.emplace_back(&one, std::vector<std::string>{});
        const bool secret = one.kind == setting_kind::secret;
        CLI::Option* const option =
            app->add_option(option_name(one), slot.texts,
                            std::string(one.help) + (secret ? ": a file with it" : ""))
                ->type_name(secret ? "FILE" : std::string(one.placeholder))
                ->default_str(one.show(defaults))
                ->expected(1);
        if (one.kind == setting_kind::list) option->take_all();
        if (std::ranges::find(everyday, one.name) == everyday.end()) option->group("");
    }
    app->add_option("--config", words->config, "A file with lines NAME = VALUE")->type_name("FILE");
    app->add_flag("--print-settings", words->print_settings, "Print the table of settings and end");
    app->footer(
        "Each setting is also a variable (HOLDFAST_LOCK_LIFE) and a line of --config "
        "(lock_life = 5s). SIGTERM drains; a second signal ends at once.\n"
        "Example:\n"
        "  holdfast serve --engine redis://host:6379 --role comet\n"
        "Exit codes: 0 ended by a signal, 1 at once, 2 misuse, 5 no engine or address\n");
    all.push_back({app, [words] { return serve(*words); }});
}

}  // namespace holdfast::app
