// SPDX-License-Identifier: Apache-2.0
//
// What tasks are called in words, JSON and log lines.
#include "core/json_text.hpp"

#include <holdfast/tasks/task_runner.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace holdfast {
namespace {

constexpr std::array<std::string_view, 6> state_words{"pending",  "running", "publishing",
                                                      "finished", "dead",    "cancelled"};

// An id of digits is a number in JSON, as long as every reader can hold it.
std::string id_value(std::string_view id) {
    const bool number = !id.empty() && id.size() <= 15 && id.front() != '0' &&
                        std::ranges::all_of(id, [](char c) { return c >= '0' && c <= '9'; });
    return number ? std::string(id) : detail::json_quoted(id);
}

}  // namespace

std::string_view to_string(task_state state) noexcept {
    return state_words[static_cast<std::size_t>(state)];
}

result<task_state> parse_task_state(std::string_view text) {
    const auto found = std::ranges::find(state_words, text);
    if (found != state_words.end()) {
        return static_cast<task_state>(found - state_words.begin());
    }
    return fail(errc::invalid_argument,
                fmt::format("a task's state is one of {}", fmt::join(state_words, ", ")));
}

std::string to_json(const task_outcome& outcome, std::string_view id_name) {
    using enum task_outcome::status;
    switch (outcome.what) {
        case success:
            return fmt::format(R"({{"status":"success","{}":{}}})", id_name, id_value(outcome.id));
        case skipped:
            return fmt::format(R"({{"status":"skipped","reason":{}}})",
                               detail::json_quoted(outcome.reason));
        case error: break;
    }
    return fmt::format(R"({{"status":"error","reason":{}}})", detail::json_quoted(outcome.reason));
}

std::string to_string(const task_event& event) {
    using enum task_event::kind;
    const auto line = [&](std::string_view text) {
        return fmt::format("task {}: {}", event.id, text);
    };
    switch (event.what) {
        case received: return line("received");
        case already_processing: return line("skipped: another task has the lock");
        case invalid_state: return line("skipped: its state does not fit");
        case finished: return line("finished");
        case failed: return line("failed: " + event.reason);
        case lost: return line(fmt::format("lost: {}; nothing was written", event.reason));
        case given_back: return line("given back: the worker stops");
        case rescued: return line("its worker is gone; it runs again");
        case buried: return line("dead: " + event.reason);
        case lock_released: return line("lock released");
        case trouble: break;
    }
    return event.id.empty() ? event.reason : line(event.reason);
}

}  // namespace holdfast
