// SPDX-License-Identifier: Apache-2.0
#include "differential/target.hpp"

#include <stdexcept>

namespace holdfast::test {
namespace {

redis_options oracle_options() {
    redis_options options;
    options.arguments = {"--enable-debug-command", "yes"};
    return options;
}

std::vector<std::string_view> views(const word_vector& args) {
    return {args.begin(), args.end()};
}

void demand(const reply& answer, const char* doing) {
    if (answer.is_error()) throw std::runtime_error(std::string(doing) + ": " + answer.text());
}

}  // namespace

reply target::ask(word_vector args) {
    operation step;
    step.args = std::move(args);
    return run(operation::shared, {&step, 1}).front();
}

// One connection more than sessions: the last is for transaction().
redis_target::redis_target() : server_(oracle_options()) {
    for (int i = 0; i <= operation::sessions; ++i) sessions_.push_back(server_.connect());
    demand(sessions_[0].ask("DEBUG", "SET-ACTIVE-EXPIRE", 0), "switching active expiry off");
}

void redis_target::start_over() {
    for (raw_connection& session : sessions_) demand(session.ask("RESET"), "RESET");
    demand(sessions_[0].ask("FLUSHALL"), "FLUSHALL");
    demand(sessions_[0].ask("SCRIPT", "FLUSH"), "SCRIPT FLUSH");
}

std::vector<reply> redis_target::run(std::uint8_t session, std::span<const operation> steps) {
    raw_connection& connection = sessions_.at(session);
    for (const operation& step : steps) {
        if (session == operation::shared && command_name(step.args) == "DBSIZE") {
            connection.append(words("SCAN", 0, "COUNT", 100'000).view());
        }
        connection.append(views(step.args));
    }
    std::vector<reply> replies;
    replies.reserve(steps.size());
    for (const operation& step : steps) {
        if (session == operation::shared && command_name(step.args) == "DBSIZE") {
            (void)connection.next();
        }
        replies.push_back(connection.next());
    }
    return replies;
}

reply redis_target::transaction(const std::vector<word_vector>& body) {
    raw_connection& connection = sessions_.back();
    connection.append(words("MULTI").view());
    for (const word_vector& args : body) connection.append(views(args));
    connection.append(words("EXEC").view());
    for (std::size_t i = 0; i <= body.size(); ++i) (void)connection.next();
    return connection.next();
}

}  // namespace holdfast::test
