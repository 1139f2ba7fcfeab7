// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <charconv>
#include <concepts>
#include <cstddef>
#include <initializer_list>
#include <memory>
#include <string_view>
#include <vector>

/// Room for short texts that views point to until they are all forgotten at once.
///
/// What fits is kept in place, so that a usual request allocates nothing. Does not move: the views
/// would be left behind.
namespace holdfast::detail {

class text_arena {
public:
    text_arena() = default;
    text_arena(const text_arena&) = delete;
    text_arena& operator=(const text_arena&) = delete;

    /// The parts as one text.
    std::string_view put(std::initializer_list<std::string_view> parts) {
        std::size_t size = 0;
        for (const std::string_view part : parts) size += part.size();
        const char* const begin = take(size);
        for (const std::string_view part : parts) at_ = std::ranges::copy(part, at_).out;
        return {begin, size};
    }

    std::string_view put(std::integral auto number) {
        const char* const begin = take(most_digits);
        at_ = std::to_chars(at_, end_, number).ptr;
        return {begin, static_cast<std::size_t>(at_ - begin)};
    }

    /// Forgets all of it: the views are void.
    void clear() noexcept {
        far_.clear();
        at_ = near_.data();
        end_ = at_ + near_.size();
    }

private:
    static constexpr std::size_t most_digits = 20;
    static constexpr std::size_t least_far = 512;

    char* take(std::size_t size) {
        if (static_cast<std::size_t>(end_ - at_) < size) {
            const std::size_t room = std::max(size, least_far);
            at_ = far_.emplace_back(std::make_unique_for_overwrite<char[]>(room)).get();
            end_ = at_ + room;
        }
        return at_;
    }

    std::array<char, 128> near_;
    char* at_ = near_.data();
    char* end_ = near_.data() + near_.size();
    std::vector<std::unique_ptr<char[]>> far_;
};

}  // namespace holdfast::detail
