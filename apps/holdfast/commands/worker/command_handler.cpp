// SPDX-License-Identifier: Apache-2.0
#include "commands/worker/command_handler.hpp"

#include <fmt/format.h>

#include <charconv>
#include <filesystem>
#include <memory>
#include <system_error>
#include <utility>

namespace holdfast::app {
namespace {

constexpr int data_error = 65;  // EX_DATAERR of sysexits.h

void replace_marks(std::string& word, const std::string& arguments) {
    std::size_t at = 0;
    while ((at = word.find("{}", at)) != std::string::npos) {
        word.replace(at, 2, arguments);
        at += arguments.size();
    }
}

// "40 note", "40% note", "result text".
void read_line(std::string_view line, task_context& task, std::string& said) {
    constexpr std::string_view result_word = "result ";
    if (line.starts_with(result_word)) {
        said = line.substr(result_word.size());
        return;
    }
    double percent = 0;
    const auto [end, problem] = std::from_chars(line.data(), line.data() + line.size(), percent);
    if (problem != std::errc{}) return;
    std::string_view note(end, static_cast<std::size_t>(line.data() + line.size() - end));
    if (note.starts_with('%')) note.remove_prefix(1);
    if (note.starts_with(' ')) note.remove_prefix(1);
    task.progress(percent / 100, note);
}

std::vector<std::pair<std::string, std::string>> variables_of(task_context& task) {
    const auto deadline = std::chrono::floor<std::chrono::seconds>(
        system_clock().wall() +
        std::chrono::duration_cast<std::chrono::microseconds>(task.remaining()));
    return {{"HOLDFAST_TASK", task.task().id},
            {"HOLDFAST_ARGUMENTS", task.task().arguments},
            {"HOLDFAST_QUEUE", task.task().queue},
            {"HOLDFAST_FENCE", to_string(task.fence())},
            {"HOLDFAST_ATTEMPT", std::to_string(task.task().attempt)},
            {"HOLDFAST_DEADLINE", std::to_string(deadline.time_since_epoch().count())}};
}

}  // namespace

std::string show_ending_of(const command_ground::ending& end) {
    if (end.not_started != 0) return std::generic_category().message(end.not_started);
    if (end.code > 128) return "it was killed by " + signal_name(end.code - 128);
    return fmt::format("it ended with {}", end.code);
}

task_handler make_command_handler(command_settings settings, command_ground& ground) {
    const auto how = std::make_shared<const command_settings>(std::move(settings));
    return [how, &ground](task_context& task) -> result<std::string> {
        command_ground::plan plan{
            .words = how->words, .variables = variables_of(task), .grace = how->grace};
        for (std::string& word : plan.words) replace_marks(word, task.task().arguments);
        if (!how->output.empty()) {
            auto staged =
                task.output((std::filesystem::path(how->output) / task.task().id).native());
            if (!staged) return std::unexpected(std::move(staged.error()));
            plan.variables.emplace_back("HOLDFAST_OUTPUT", *staged);
        }
        std::string said;
        plan.on_line = [&](std::string_view line) { read_line(line, task, said); };
        const auto end = ground.run(std::move(plan), task);
        if (end.not_started != 0) {
            return fail(errc::unavailable, fmt::format("cannot run '{}': {}", how->words.front(),
                                                       show_ending_of(end)));
        }
        if (end.stopped) return fail(errc::cancelled, "it was stopped");
        if (end.code == 0) return said;
        const errc code = end.code == data_error ? errc::invalid_argument : errc::unavailable;
        return fail(code, fmt::format("'{}': {}{}", how->words.front(), show_ending_of(end),
                                      said.empty() ? "" : ": " + said));
    };
}

}  // namespace holdfast::app
