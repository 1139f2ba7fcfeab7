// SPDX-License-Identifier: Apache-2.0
//
// What an operator sees of tasks, and may do to a dead one.
#include "commands/serve/api_answers.hpp"
#include "commands/serve/json_input.hpp"
#include "commands/serve/push_service.hpp"
#include "core/json_text.hpp"

#include <fmt/format.h>

namespace holdfast::app {

using net::http_request;
using net::http_response;

void push_service::add_task_routes() {
    router_.add("GET", "/api/ops/tasks", [this](const auto&, const auto&) { return tasks(); });
    router_.add("POST", "/api/ops/requeue",
                [this](const auto& r, const auto&) { return requeue(r); });
}

http_response push_service::tasks() {
    return {.headers = {{"Cache-Control", "no-store"}}, .body = tasks_json(*tasks_->look())};
}

http_response push_service::requeue(const http_request& r) {
    const auto asked = parse_intervention(r.body, "task");
    if (!asked) return net::problem(400, asked.error().reason, asked.error().detail);
    const auto done = tasks_->requeue(asked->target);
    if (!done && done.error() == errc::invalid_argument) {
        return net::problem(422, "not_dead", done.error().detail);
    }
    if (!done) return problem_of(done.error());
    log_.write(push::log_level::warning,
               fmt::format("[Ops] Task requeued: {} by={} reason={}", asked->target, r.peer,
                           detail::json_quoted(asked->reason)));
    return {.body = R"({"requeued":true})"};
}

}  // namespace holdfast::app
