// SPDX-License-Identifier: Apache-2.0
//
// What the pages ask beside Logic's own answers: live rooms, an operator's view, and the two things
// that an operator may do.
#include "commands/serve/api_answers.hpp"
#include "commands/serve/json_input.hpp"
#include "commands/serve/ops_json.hpp"
#include "commands/serve/push_service.hpp"
#include "core/json_text.hpp"

#include <holdfast/clock.hpp>
#include <holdfast/engine/url.hpp>
#include <holdfast/version.hpp>

#include <fmt/format.h>

namespace holdfast::app {
namespace {

using detail::json_array;
using detail::json_object;
using net::http_request;
using net::http_response;
using net::problem;

std::string limits_json(const std::vector<send_limits::figures>& all) {
    std::vector<std::string> out;
    for (const auto& one : all) {
        json_object row;
        row.put("name", one.name);
        row.put("rate", one.rate);
        row.put("allowed", one.allowed);
        row.put("refused", one.refused);
        out.push_back(row.text());
    }
    return json_array(out);
}

std::string settings_json(const serve_settings& s) {
    json_object out;
    out.put("mode", push::to_string(s.push.mode));
    out.put("cooldownMs", in_milliseconds(s.push.cooldown));
    out.put("dedupMs", in_milliseconds(s.push.dedup));
    out.put("lockLifeMs", in_milliseconds(s.push.lock_life));
    out.put("consumers", s.push.consumers);
    out.put("logic", s.roles.logic);
    out.put("job", s.roles.job);
    out.put("comet", s.roles.comet);
    return out.text();
}

}  // namespace

void push_service::add_ops_routes() {
    router_.add("GET", "/api/rooms", [this](const auto&, const auto&) { return live_rooms(); });
    router_.add("GET", "/api/rooms/{room}",
                [this](const auto&, const auto& parts) { return live_room(parts[0]); });
    router_.add("GET", "/api/ops", [this](const auto& r, const auto&) { return ops(r); });
    router_.add("POST", "/api/ops/evict", [this](const auto& r, const auto&) { return evict(r); });
    router_.add("POST", "/api/ops/clear-cooldown",
                [this](const auto& r, const auto&) { return clear_cooldown(r); });
}

http_response push_service::live_rooms() {
    const auto view = watch_.look();
    if (!view->engine_error.empty()) return problem_of(error{errc::unavailable, ""});
    std::vector<std::string> out;
    for (const ops_room& room : view->rooms) {
        json_object row;
        row.put("roomId", room.state.name);
        row.put("viewers", room.state.viewers);
        row.put("rate", room.state.rate);
        row.put("messages", room.state.tail);
        out.push_back(row.text());
    }
    return {.headers = {{"Cache-Control", "no-store"}},
            .body = fmt::format(R"({{"rooms":{},"more":{}}})", json_array(out), view->more_rooms)};
}

// Also of a room that nobody has sent to yet: its page is there before its first message.
http_response push_service::live_room(const std::string& name) {
    if (const auto fault = push::find_room_fault(name, settings_.push)) return problem_of(*fault);
    const auto seen = rooms_.room(name);
    if (!seen) return problem_of(seen.error());
    const push::room_state state = seen->value_or(push::room_state{});
    json_object out;
    out.put("roomId", name);
    out.put("viewers", state.viewers);
    out.put("rate", state.rate);
    out.put("messages", state.tail);
    out.put("handshake", !settings_.handshake_secret.empty());
    return {.headers = {{"Cache-Control", "no-store"}}, .body = out.text()};
}

http_response push_service::ops(const http_request& r) {
    const auto since = number_of(r, "since", 0, std::uint64_t{1} << 53);
    if (!since) return since.error();
    const auto view = watch_.look();
    json_object out;
    out.put("version", version);
    out.put("engine", redacted(std::string_view(settings_.engine)));
    out.put("uptimeMs", in_milliseconds(holdfast::system_clock().now() - started_));
    out.put("draining", draining_.load());
    out.raw("settings", settings_json(settings_));
    out.raw("troubles", troubles_json(*view));
    out.put("tasks", tasks_.has_value());
    out.put("viewers", counts_.viewers.load());
    out.put("queue", view->queue);
    out.raw("rooms", rooms_json(*view));
    out.put("moreRooms", view->more_rooms);
    out.raw("locks", locks_json(*view));
    out.put("moreLocks", view->more_locks);
    out.raw("leases", leases_json(view->leases));
    out.raw("limits", limits_json(limits_ ? limits_->read() : std::vector<send_limits::figures>()));
    out.raw("health", health_json(*view));
    out.raw("series", series_json(watch_.series(*since)));
    return {.headers = {{"Cache-Control", "no-store"}}, .body = out.text()};
}

http_response push_service::evict(const http_request& r) {
    const auto asked = parse_intervention(r.body, "lock");
    if (!asked) return problem(400, asked.error().reason, asked.error().detail);
    const auto done = engine_.evict(asked->target, asked->reason);
    if (!done) return problem_of(done.error());
    log_.write(push::log_level::warning,
               fmt::format("[Ops] Lock evicted: lock:{} holders={} by={} reason={}", asked->target,
                           *done, r.peer, detail::json_quoted(asked->reason)));
    return {.body = fmt::format(R"({{"evicted":{}}})", *done)};
}

http_response push_service::clear_cooldown(const http_request& r) {
    const auto asked = parse_intervention(r.body, "roomId");
    if (!asked) return problem(400, asked.error().reason, asked.error().detail);
    const auto done = rooms_.clear_cooldown(asked->target);
    if (!done) return problem_of(done.error());
    log_.write(push::log_level::warning,
               fmt::format("[Ops] Cooldown cleared: {} was_running={} by={} reason={}",
                           asked->target, *done, r.peer, detail::json_quoted(asked->reason)));
    return {.body = fmt::format(R"({{"cleared":{}}})", *done)};
}

}  // namespace holdfast::app
