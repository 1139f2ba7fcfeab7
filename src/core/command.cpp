// SPDX-License-Identifier: Apache-2.0
#include "core/sha1.hpp"
#include "core/submit_sequence.hpp"

#include <holdfast/engine/command_engine.hpp>

#include <utility>

namespace holdfast {
namespace {

result<reply> checked(result<reply> answer) {
    if (answer && answer->is_error()) return std::unexpected(to_error(*answer));
    return answer;
}

}  // namespace

script::script(std::string source) {
    std::string name = sha1_hex(source);
    text_ = std::make_shared<const text>(std::move(source), std::move(name));
}

result<reply> command_session::execute(const command& c, time_point give_up) {
    result<reply> answer;
    exchange({&c, 1}, {&answer, 1}, give_up);
    return checked(std::move(answer));
}

// For engines that have no thread to be spared.
result<std::unique_ptr<subscription>> command_engine::watch_keys(std::string_view /*prefix*/,
                                                                 push_handler /*handler*/,
                                                                 time_point /*give_up*/) {
    return fail(errc::unsupported, "this engine does not tell which keys change");
}

bool command_engine::hear_pushes(const push_wait& /*wait*/) {
    return false;
}

void command_engine::submit_together(std::span<const command> commands, time_point give_up,
                                     joint_completion done) {
    detail::submit_sequence(*this, std::make_unique<detail::turns>(commands, give_up),
                            std::move(done));
}

std::size_t command_engine::node_of(std::string_view /*key*/) const {
    return 0;
}

result<reply> command_engine::execute(const command& c, time_point give_up) {
    result<reply> answer;
    exchange({&c, 1}, {&answer, 1}, give_up);
    return checked(std::move(answer));
}

result<reply> command_engine::evaluate(const script& s, std::span<const std::string_view> keys,
                                       std::span<const std::string_view> args, time_point give_up,
                                       repeat again) {
    const std::string count = std::to_string(keys.size());
    std::vector<std::string_view> list{"EVALSHA", s.sha1(), count};
    list.insert(list.end(), keys.begin(), keys.end());
    list.insert(list.end(), args.begin(), args.end());
    return execute(command{list, again, &s}, give_up);
}

}  // namespace holdfast
