// SPDX-License-Identifier: Apache-2.0
#include "conformance/command_seam/command_seam.hpp"

#include <holdfast/entropy.hpp>

#include <chrono>
#include <stdexcept>
#include <utility>

namespace holdfast::test {

using namespace std::chrono_literals;

time_point command_seam::soon() const {
    return engine_->time().now() + 20s;
}

time_point command_seam::past() const {
    return engine_->time().now() - 1ms;
}

std::string command_seam::fresh_prefix() {
    return "{conformance:" + std::to_string(system_entropy().below(1ULL << 62)) + "}:";
}

const std::string& command_seam::key(std::string_view name) {
    const std::scoped_lock guard(mutex_);
    return *keys_.insert(unique_ + std::string(name)).first;
}

reply command_seam::ask_command(const command& c) {
    result<reply> answer;
    engine_->exchange({&c, 1}, {&answer, 1}, soon());
    if (answer) return std::move(*answer);
    ADD_FAILURE() << c.args.front() << " was not answered: " << to_string(answer.error());
    return reply::error("no answer");
}

std::unique_ptr<command_session> command_seam::session() {
    auto opened = engine_->open_session(key(""), soon());
    if (opened) return std::move(*opened);
    throw std::runtime_error("no session: " + to_string(opened.error()));
}

reply command_seam::exchange_one(command_session& in, const command& c, time_point give_up) {
    result<reply> answer;
    in.exchange({&c, 1}, {&answer, 1}, give_up);
    if (answer) return std::move(*answer);
    ADD_FAILURE() << c.args.front() << " was not answered: " << to_string(answer.error());
    return reply::error("no answer");
}

}  // namespace holdfast::test
