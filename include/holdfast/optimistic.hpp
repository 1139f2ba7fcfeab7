// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <holdfast/engine/command_access.hpp>
#include <holdfast/engine/reply.hpp>
#include <holdfast/error.hpp>

#include <functional>
#include <initializer_list>
#include <span>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

/// Read, decide, write; and retry if somebody else wrote meanwhile.
///
///     auto paid = holdfast::optimistic(hf, {"balance:42"}, [](holdfast::attempt& now)
///             -> holdfast::result<void> {
///         auto balance = now.read({"GET", "balance:42"});
///         if (!balance) return std::unexpected(balance.error());
///         if (number_in(*balance) < 100) return holdfast::fail(errc::denied, "not enough");
///         now.write({"DECRBY", "balance:42", "100"});
///         return {};
///     });
///
/// This is WATCH, the reads, MULTI, the writes, EXEC, on a separate connection. It suits updates
/// that rarely collide; for a key that everybody writes, a mutex or a script does less work.
namespace holdfast {

/// One attempt. It watches the keys that it reads, and carries out all writes at the end, or none.
/// Thread safety: the caller's thread alone, within the call.
class attempt {
public:
    /// A command that reads, carried out now. Errors: as the engine's.
    [[nodiscard]] result<reply> read(std::initializer_list<std::string_view> words);

    /// A command that writes, carried out at the end. The words are copied. At most 1000.
    void write(std::vector<std::string> words);

    /// The number of this attempt; the first is 1.
    [[nodiscard]] int number() const noexcept { return number_; }

private:
    friend class optimistic_run;
    attempt(command_session& session, time_point give_up, int number)
        : session_(session), give_up_(give_up), number_(number) {}

    command_session& session_;
    time_point give_up_;
    int number_;
    std::vector<std::vector<std::string>> writes_;
};

struct optimistic_options {
    /// How often to try before `busy`. 1 to 1000.
    int attempts = 16;

    /// The longest pause before the second attempt; doubles with each, up to backoff_max. The pause
    /// is random between zero and that, so that callers that collided do not collide again.
    duration backoff = std::chrono::milliseconds(1);
    duration backoff_max = std::chrono::milliseconds(100);

    /// How long all of it may take.
    duration timeout = std::chrono::seconds(5);

    /// Ends the pauses early, with `cancelled`.
    std::stop_token stop = {};
};

/// Runs `decide` until its writes were carried out on what it read. An error of `decide` ends it:
/// nothing is written, and that error is returned. Without any write, nothing is sent.
/// Returns the replies to the writes, in their order.
/// Errors: busy (others wrote during every attempt), timed_out, cancelled: nothing was written.
/// outcome_unknown: the answer to EXEC was lost; the writes were carried out, or not.
/// invalid_argument (no keys, more than 100, keys in different hash slots, a command that the
/// server refuses), unsupported, unavailable, denied.
/// Blocks: at most `timeout`. Cancellation: by options.stop.
[[nodiscard]] result<std::vector<reply>> optimistic(
    const command_access& where, std::initializer_list<std::string_view> keys,
    const std::function<result<void>(attempt&)>& decide, const optimistic_options& options = {});
[[nodiscard]] result<std::vector<reply>> optimistic(
    const command_access& where, std::span<const std::string_view> keys,
    const std::function<result<void>(attempt&)>& decide, const optimistic_options& options = {});

}  // namespace holdfast
