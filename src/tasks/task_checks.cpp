// SPDX-License-Identifier: Apache-2.0
#include "tasks/task_checks.hpp"

#include <holdfast/tasks/cron.hpp>

#include <fmt/format.h>

#include <algorithm>

namespace holdfast::detail {
namespace {

constexpr duration longest_delay = std::chrono::hours(24 * 366);

bool is_word(std::string_view text, std::size_t most, std::string_view also) {
    const auto fits = [&](char c) {
        return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
               also.contains(c);
    };
    // No name is a path: neither "." nor ".." nor a hidden file.
    return !text.empty() && text.size() <= most && text.front() != '.' && text.front() != '-' &&
           std::ranges::all_of(text, fits);
}

std::unexpected<error> wrong_field(std::string_view field, std::string_view takes) {
    return fail(errc::invalid_argument, fmt::format("the task's {} takes {}", field, takes));
}

}  // namespace

result<void> check_queue(std::string_view name) {
    if (is_word(name, 100, "-_.")) return {};
    return wrong_field("queue",
                       "1 to 100 letters, digits, '-', '_' and '.', a letter or digit first");
}

result<void> check_task_id(std::string_view id) {
    if (is_word(id, 200, "-_.:@")) return {};
    return wrong_field("id",
                       "1 to 200 letters, digits, '-', '_', '.', ':' and '@', a letter or digit "
                       "first");
}

result<void> check_submission(const task_submission& what) {
    if (auto fit = check_queue(what.queue); !fit) return fit;
    if (!what.id.empty()) {
        if (auto fit = check_task_id(what.id); !fit) return fit;
    }
    if (what.arguments.size() > task_submission::max_arguments || !is_utf8(what.arguments) ||
        what.arguments.contains('\0')) {
        return wrong_field("arguments", fmt::format("at most {} bytes of UTF-8 without zero bytes",
                                                    task_submission::max_arguments));
    }
    if (what.priority < -100 || what.priority > 100) return wrong_field("priority", "-100 to 100");
    if (what.delay < duration::zero() || what.delay > longest_delay) {
        return wrong_field("delay", "0 to 366 days");
    }
    if (what.retry.retries > 1000 || what.retry.crashes > 1000) {
        return wrong_field("retry policy", "0 to 1000 retries and crashes");
    }
    if (what.retry.pause < duration::zero() || what.retry.pause > longest_delay) {
        return wrong_field("retry pause", "0 to 366 days");
    }
    const std::string_view key = what.unique_key;
    const bool printable = std::ranges::none_of(
        key, [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7F; });
    if (key.size() > 200 || !is_utf8(key) || !printable) {
        return wrong_field("unique key", "at most 200 bytes of UTF-8 without control characters");
    }
    return {};
}

result<void> check_schedule(const task_schedule& what) {
    if (!is_word(what.name, 100, "-_.")) {
        return fail(
            errc::invalid_argument,
            "the name of a recurring task takes 1 to 100 letters, digits, '-', '_' and '.', "
            "a letter or digit first");
    }
    if (auto rule = cron::parse(what.cron); !rule) return std::unexpected(std::move(rule.error()));
    task_submission task = what.task;
    task.id.clear();
    return check_submission(task);
}

std::string stored_text(std::string_view text, std::size_t most) {
    std::string out(text.substr(0, most));
    std::ranges::replace(out, '\0', ' ');
    while (!out.empty() && out.size() == most && !is_utf8(out)) out.pop_back();  // cut in a letter
    if (is_utf8(out)) return out;
    std::ranges::replace_if(out, [](char c) { return static_cast<unsigned char>(c) >= 0x80; }, '?');
    return out;
}

}  // namespace holdfast::detail
