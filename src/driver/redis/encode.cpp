// SPDX-License-Identifier: Apache-2.0
#include "driver/redis/encode.hpp"

#include <algorithm>
#include <charconv>

namespace holdfast::redis {
namespace {

std::size_t digits(std::size_t value) noexcept {
    if (value < 10) return 1;
    if (value < 100) return 2;
    std::size_t count = 3;
    for (value /= 1000; value > 0; value /= 10) ++count;
    return count;
}

// Most words are short; to_chars() is for the others.
char* put_header(char* at, char kind, std::size_t value) noexcept {
    *at++ = kind;
    if (value < 10) {
        *at++ = static_cast<char>('0' + value);
    } else {
        at = std::to_chars(at, at + digits(value), value).ptr;
    }
    *at++ = '\r';
    *at++ = '\n';
    return at;
}

}  // namespace

std::size_t encoded_size(std::span<const std::string_view> args) noexcept {
    std::size_t size = 3 + digits(args.size());
    for (const std::string_view word : args) size += 5 + digits(word.size()) + word.size();
    return size;
}

void append_command(std::string& out, std::span<const std::string_view> args) {
    const std::size_t before = out.size();
    const auto put = [&](char* room, std::size_t /*at_least*/) {
        char* at = put_header(room + before, '*', args.size());
        for (const std::string_view word : args) {
            at = put_header(at, '$', word.size());
            at = std::copy(word.begin(), word.end(), at);
            *at++ = '\r';
            *at++ = '\n';
        }
        return static_cast<std::size_t>(at - room);
    };
    out.resize_and_overwrite(before + encoded_size(args), put);
}

}  // namespace holdfast::redis
