// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <charconv>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

/// A Redis command, borrowed for the time of a call.
///
/// `words("SET", key, value, "PX", 30000)` makes one on the stack: nothing is copied and nothing is
/// allocated. Arguments may hold any bytes.
namespace holdfast {

/// May a command be sent again when it was sent once and no answer came?
enum class repeat : std::uint8_t {
    never,      ///< It may have been carried out: answer outcome_unknown.
    idempotent  ///< Carrying it out twice is the same as once.
};

/// A script, and the SHA-1 that names it on the server. Copies share the text.
class script {
public:
    explicit script(std::string source);

    [[nodiscard]] const std::string& source() const noexcept { return text_->source; }
    [[nodiscard]] const std::string& sha1() const noexcept { return text_->sha1; }

private:
    struct text {
        std::string source;
        std::string sha1;
    };
    std::shared_ptr<const text> text_;
};

/// Requires: args[0] is the command's name; what the views point to outlives the call.
struct command {
    std::span<const std::string_view> args;
    repeat again = repeat::never;

    /// For EVALSHA: the script to load when the server says NOSCRIPT; the same command is then
    /// repeated inside the same call (a NOSCRIPT has done nothing, so that is always safe).
    const script* body = nullptr;
};

/// The words of a command, with room for the digits of its integers. Converts to `command`.
template <std::size_t N>
class word_list {
public:
    template <class... Words>
    explicit word_list(const Words&... words) {
        static_assert(sizeof...(Words) == N);
        std::size_t at = 0;
        (put(at++, words), ...);
    }
    word_list(const word_list&) = delete;  // its views point into it
    word_list& operator=(const word_list&) = delete;

    [[nodiscard]] std::span<const std::string_view> view() const noexcept { return words_; }
    operator command() const noexcept { return {words_}; }  // NOLINT: the conversion is its purpose
    [[nodiscard]] command idempotent() const noexcept { return {words_, repeat::idempotent}; }

private:
    void put(std::size_t at, std::string_view text) { words_[at] = text; }
    void put(std::size_t at, std::integral auto number) {
        auto& room = digits_[at];
        const auto end = std::to_chars(room.data(), room.data() + room.size(), number).ptr;
        words_[at] = {room.data(), static_cast<std::size_t>(end - room.data())};
    }

    std::array<std::string_view, N> words_{};
    std::array<std::array<char, 20>, N> digits_;
};

template <class... Words>
[[nodiscard]] word_list<sizeof...(Words)> words(const Words&... list) {
    return word_list<sizeof...(Words)>(list...);
}

}  // namespace holdfast
