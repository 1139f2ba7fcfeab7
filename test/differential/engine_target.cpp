// SPDX-License-Identifier: Apache-2.0
#include "differential/target.hpp"

#include <chrono>
#include <stdexcept>

namespace holdfast::test {
namespace {

// Commands borrow views, so the views of a whole pipeline must live side by side.
struct pipeline {
    std::vector<std::vector<std::string_view>> words;
    std::vector<command> commands;

    void add(const word_vector& args) { words.emplace_back(args.begin(), args.end()); }
    std::span<const command> view() {
        commands.clear();
        for (const auto& w : words) commands.push_back(command{.args = w});
        return commands;
    }
};

reply shown(result<reply>&& answer) {
    if (answer) return std::move(*answer);
    return reply::error("(no reply) " + to_string(answer.error()));
}

}  // namespace

time_point engine_target::give_up() const {
    return engine_->time().now() + std::chrono::seconds(10);
}

void engine_target::start_over() {
    sessions_.clear();
    engine_ = make_();
    for (int i = 1; i < operation::sessions; ++i) {
        auto session = engine_->open_session("", give_up());
        if (!session) throw std::runtime_error("open_session: " + to_string(session.error()));
        sessions_.push_back(std::move(*session));
    }
}

std::vector<reply> engine_target::run(std::uint8_t session, std::span<const operation> steps) {
    pipeline line;
    for (const operation& step : steps) line.add(step.args);
    std::vector<result<reply>> answers(steps.size());
    if (session == operation::shared) {
        engine_->exchange(line.view(), answers, give_up());
    } else {
        sessions_.at(session - 1U)->exchange(line.view(), answers, give_up());
    }
    std::vector<reply> replies;
    replies.reserve(answers.size());
    for (auto& answer : answers) replies.push_back(shown(std::move(answer)));
    return replies;
}

reply engine_target::transaction(const std::vector<word_vector>& body) {
    pipeline line;
    for (const word_vector& args : body) line.add(args);
    return shown(engine_->transaction(line.view(), give_up()));
}

}  // namespace holdfast::test
