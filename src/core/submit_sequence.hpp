// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/owned_command.hpp"
#include "core/require.hpp"

#include <holdfast/engine/command_engine.hpp>

#include <array>
#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <utility>

/// Commands of which each must come after the one before it, where they cannot travel together:
/// each is sent when the one before it has been answered, and not at all if that failed.
namespace holdfast::detail {

struct turns {
    turns(std::span<const command> commands, time_point until) : give_up(until) {
        require(!commands.empty() && commands.size() <= what.size(), "1 to most_together commands");
        for (const command& c : commands) what[count++].emplace(command{c.args, repeat::never});
    }

    std::array<std::optional<owned_command>, command_engine::most_together> what;
    std::array<result<reply>, command_engine::most_together> answers;
    std::size_t count = 0;
    std::size_t next = 0;  ///< The first that has not been answered.
    const time_point give_up;
};

/// Sender: has command_engine's submit(), and lives until `done` was called.
template <class Sender>
void submit_sequence(Sender& to, std::unique_ptr<turns> all,
                     command_engine::joint_completion done) {
    turns& now = *all;
    if (now.next == now.count) return done({now.answers.data(), now.count});
    to.submit(now.what[now.next]->view(), now.give_up,
              [&to, all = std::move(all), done = std::move(done)](result<reply> answer) mutable {
                  turns& sent = *all;
                  const bool failed = !answer;
                  sent.answers[sent.next++] = std::move(answer);
                  for (; failed && sent.next < sent.count; ++sent.next) {
                      sent.answers[sent.next] =
                          fail(errc::unavailable, "not sent: the one before it failed");
                  }
                  submit_sequence(to, std::move(all), std::move(done));
              });
}

}  // namespace holdfast::detail
