// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "command/key_text.hpp"
#include "core/require.hpp"
#include "core/to_ms.hpp"

#include <holdfast/engine/command_access.hpp>
#include <holdfast/error.hpp>

#include <array>
#include <charconv>
#include <concepts>
#include <cstddef>
#include <initializer_list>
#include <string>
#include <string_view>

/// One script call of traffic control to its engine: a script, a key, a few numbers.
///
/// Everything is on the stack. A script call is asked for every request of a service, so it should
/// cost a trip and nothing else.
namespace holdfast::detail {

/// The words of an EVALSHA, and the digits of its numbers. Its views point into it.
class script_call {
public:
    script_call(const script& body, std::size_t keys, repeat again) : body_(&body), again_(again) {
        word("EVALSHA");
        word(body.sha1());
        word(keys);
    }
    script_call(const script_call&) = delete;
    script_call& operator=(const script_call&) = delete;

    void word(std::string_view text) {
        require(count_ < words_.size(), "a call has room for the words of sixteen limits");
        words_[count_++] = text;
    }
    void word(std::integral auto number) {
        require(numbers_ < digits_.size(), "a call has room for the numbers of sixteen limits");
        auto& room = digits_[numbers_++];
        const auto end = std::to_chars(room.data(), room.data() + room.size(), number).ptr;
        word(std::string_view(room.data(), static_cast<std::size_t>(end - room.data())));
    }
    [[nodiscard]] command as_command() const noexcept {
        return {{words_.data(), count_}, again_, body_};
    }

private:
    // Enough for sixteen limits at once: a key and five words for each.
    std::array<std::string_view, 4 + 16 * 6> words_;
    std::array<std::array<char, 20>, 1 + 16 * 4> digits_;
    std::size_t count_ = 0;
    std::size_t numbers_ = 0;
    const script* body_;
    repeat again_;
};

/// The first of several checks that failed, if one did.
[[nodiscard]] result<void> first_failure(std::initializer_list<result<void>> checks);

/// Errors: unsupported, if the place has no engine.
[[nodiscard]] result<void> check_place(const command_access& where);

/// Errors: invalid_argument, naming `what` and the range, if it is not within 1 ms and 366 days.
[[nodiscard]] result<void> check_span(std::string_view what, duration span);

/// Errors: invalid_argument, if it is longer than max_prefix_bytes.
[[nodiscard]] result<void> check_prefix(std::string_view prefix);

/// Errors: invalid_argument, if the timeout is not above zero.
[[nodiscard]] result<void> check_timeout(duration timeout);

/// Errors: invalid_argument, if it is not 1 to 512 bytes of text.
[[nodiscard]] result<void> check_key(std::string_view key);

/// What was answered; an error reply becomes an error. Our scripts are right, so what a server
/// finds wrong with them is the value it found at `key`: corrupt.
[[nodiscard]] result<reply> answer_of(result<reply> answered, std::string_view key);

/// Asks and waits. Errors: the engine's; corrupt.
[[nodiscard]] result<reply> ask(const command_access& where, const command& c, std::string_view key,
                                time_point give_up);
[[nodiscard]] result<reply> ask(const command_access& where, const command& c, std::string_view key,
                                duration timeout);

/// 64 random bits as 16 hex digits.
[[nodiscard]] std::string draw_token(entropy& chance);

}  // namespace holdfast::detail
