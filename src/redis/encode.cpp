// SPDX-License-Identifier: Apache-2.0
#include "redis/encode.hpp"

#include <array>
#include <charconv>

namespace holdfast::redis {
namespace {

std::size_t digits(std::size_t value) noexcept {
    std::size_t count = 1;
    for (; value >= 10; value /= 10) ++count;
    return count;
}

void append_header(std::string& out, char kind, std::size_t value) {
    std::array<char, 24> text;
    text[0] = kind;
    char* end = std::to_chars(text.data() + 1, text.data() + text.size() - 2, value).ptr;
    *end++ = '\r';
    *end++ = '\n';
    out.append(text.data(), static_cast<std::size_t>(end - text.data()));
}

}  // namespace

std::size_t encoded_size(std::span<const std::string_view> args) noexcept {
    std::size_t size = 3 + digits(args.size());
    for (const std::string_view word : args) size += 5 + digits(word.size()) + word.size();
    return size;
}

void append_command(std::string& out, std::span<const std::string_view> args) {
    append_header(out, '*', args.size());
    for (const std::string_view word : args) {
        append_header(out, '$', word.size());
        out.append(word);
        out.append("\r\n", 2);
    }
}

}  // namespace holdfast::redis
