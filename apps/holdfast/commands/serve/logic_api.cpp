// SPDX-License-Identifier: Apache-2.0
//
// The answers to HTTP requests: messages in, rooms and figures out.
#include "commands/serve/api_answers.hpp"
#include "commands/serve/json_input.hpp"
#include "commands/serve/push_service.hpp"
#include "commands/serve/service_metrics.hpp"
#include "net/handshake_token.hpp"

#include <holdfast/clock.hpp>
#include <holdfast/tasks/task_metrics.hpp>

#include <fmt/format.h>

#include <iterator>

namespace holdfast::app {
namespace {

using net::http_request;
using net::http_response;
using net::problem;
using net::quoted_json;

std::string to_json(const push::receipt& sent) {
    std::string out = fmt::format(R"({{"roomId":{},"epoch":{},"messages":[)",
                                  quoted_json(sent.room), quoted_json(sent.epoch));
    for (const auto& one : sent.messages) {
        fmt::format_to(std::back_inserter(out),
                       R"({}{{"messageId":{},"offset":{},"duplicate":{}}})",
                       &one == sent.messages.data() ? "" : ",", quoted_json(one.id), one.offset,
                       one.duplicate);
    }
    fmt::format_to(std::back_inserter(out), R"(],"dueInMs":{}}})", in_milliseconds(sent.due_in));
    return out;
}

std::string to_json(const push::room_state& seen) {
    return fmt::format(
        R"({{"roomId":{},"epoch":{},"viewers":{},"comets":{},"rate":{:.2f},"mode":"{}",)"
        R"("tail":{},"cursor":{},"firstKept":{},"cooldownMs":{},"locked":{},"holder":{},)"
        R"("fence":{}}})",
        quoted_json(seen.name), quoted_json(seen.epoch), seen.viewers, seen.comets, seen.rate,
        push::to_string(seen.mode), seen.tail, seen.cursor, seen.first_kept,
        in_milliseconds(seen.cooldown_left), seen.locked,
        seen.holder ? quoted_json(*seen.holder) : "null", seen.fence);
}

}  // namespace

void push_service::add_routes() {
    const auto put = [this](const char* method, const char* pattern, net::http_handler handler) {
        router_.add(method, pattern, std::move(handler));
    };
    put("GET", "/readyz", [this](const auto&, const auto&) { return is_ready(); });
    put("GET", "/metrics", [this](const auto&, const auto&) { return metrics(); });
    add_ops_routes();
    if (!settings_.tasks.empty()) add_task_routes();
    if (!settings_.roles.logic) return;
    put("POST", "/logic/send", [this](const auto& r, const auto&) { return send(r); });
    put("POST", "/logic/token", [this](const auto& r, const auto&) { return token(r); });
    put("GET", "/logic/rooms", [this](const auto& r, const auto&) { return rooms(r); });
    put("GET", "/logic/rooms/{room}",
        [this](const auto&, const auto& parts) { return room(parts[0]); });
    put("GET", "/logic/rooms/{room}/history",
        [this](const auto& r, const auto& parts) { return history(r, parts[0]); });
}

http_response push_service::send(const http_request& r) {
    if (auto refused = limits_->refuse_address(r.peer)) return std::move(*refused);
    const auto post = parse_post(r.body);
    if (!post) return problem(400, post.error().reason, post.error().detail);
    if (const auto fault = push::find_fault(*post, settings_.push)) {
        ++counts_.refused;
        return problem_of(*fault);
    }
    auto allowed = limits_->take(push::to_text(post->user), post->room, post->messages.size());
    if (allowed.refused) return std::move(*allowed.refused);
    const auto sent = logic_->send(*post);
    if (!sent) {
        if (sent.error().reason == push::refusal_reason::engine) {
            log_.write(push::log_level::error, "Send failed: " + sent.error().detail);
        }
        return problem_of(sent.error());
    }
    return {.headers = std::move(allowed.headers), .body = to_json(*sent)};
}

http_response push_service::token(const http_request& r) {
    if (settings_.handshake_secret.empty()) {
        return problem(409, "no_secret", "no handshake_secret is set, so viewers need no token");
    }
    const auto asked = parse_token_request(r.body);
    if (!asked) return problem(400, asked.error().reason, asked.error().detail);
    if (!asked->room.empty()) {
        if (const auto fault = push::find_room_fault(asked->room, settings_.push)) {
            return problem_of(*fault);
        }
    }
    const auto now = std::chrono::floor<std::chrono::seconds>(
        holdfast::system_clock().wall().time_since_epoch());
    const std::int64_t expires = now.count() + asked->seconds;
    const std::string made = net::sign_handshake(
        {.user = asked->user, .room = asked->room, .expires = expires}, settings_.handshake_secret);
    return {.body = fmt::format(R"({{"token":"{}","expires":{}}})", made, expires)};
}

http_response push_service::rooms(const http_request& r) {
    const auto limit = number_of(r, "limit", 100, 1000);
    if (!limit) return limit.error();
    const auto seen = logic_->rooms(*limit);
    if (!seen) return problem_of(seen.error());
    std::string out = R"({"rooms":[)";
    for (const auto& one : *seen) {
        fmt::format_to(std::back_inserter(out), R"({}{{"roomId":{},"idleMs":{}}})",
                       &one == seen->data() ? "" : ",", quoted_json(one.name),
                       in_milliseconds(one.idle));
    }
    return {.body = out + "]}"};
}

http_response push_service::room(const std::string& name) {
    if (const auto fault = push::find_room_fault(name, settings_.push)) return problem_of(*fault);
    const auto seen = logic_->room(name);
    if (!seen) return problem_of(seen.error());
    if (!*seen) return problem(404, "no_such_room", "it never had a message or a viewer");
    return {.body = to_json(**seen)};
}

http_response push_service::history(const http_request& r, const std::string& name) {
    if (const auto fault = push::find_room_fault(name, settings_.push)) return problem_of(*fault);
    const auto after = number_of(r, "after", 0, std::uint64_t{1} << 53);
    if (!after) return after.error();
    const auto limit = number_of(r, "limit", 100, 1000);
    if (!limit) return limit.error();
    const auto seen = logic_->history(name, *after, *limit);
    if (!seen) return problem_of(seen.error());
    std::string out =
        fmt::format(R"({{"roomId":{},"epoch":{},"cursor":{},"firstKept":{},"messages":[)",
                    quoted_json(name), quoted_json(seen->epoch), seen->cursor, seen->first_kept);
    for (const auto& one : seen->messages) {
        if (&one != seen->messages.data()) out += ',';
        out += one.json;
    }
    return {.body = out + "]}"};
}

http_response push_service::is_ready() {
    if (draining_) return problem(503, "draining", "this server ends");
    const auto answer = engine_.commands()->execute(
        words("PING").idempotent(), holdfast::system_clock().now() + settings_.push.timeout);
    if (!answer) return problem_of(answer.error());
    return {.body = R"({"status":"ready"})"};
}

http_response push_service::metrics() {
    std::string body = metrics_text(counts_, server_.counts(), log_.lines());
    if (logic_) {
        if (const auto length = logic_->queue_length()) body += queue_metric(*length);
    }
    if (const auto locks = to_prometheus(engine_.statistics())) body += *locks;
    if (tasks_) body += to_prometheus(tasks_->look()->queues);
    return {.type = "text/plain; version=0.0.4; charset=utf-8", .body = std::move(body)};
}

}  // namespace holdfast::app
