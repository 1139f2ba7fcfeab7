// SPDX-License-Identifier: Apache-2.0
#include "resp/request_reader.hpp"

#include "resp/line_words.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstring>
#include <optional>
#include <utility>

namespace holdfast::resp {
namespace {

constexpr std::size_t first_room = std::size_t{16} * 1024;
constexpr std::size_t kept_room = std::size_t{64} * 1024;
constexpr std::size_t longest_line = std::size_t{64} * 1024;
constexpr std::size_t words_before_password = 10;
constexpr std::size_t bytes_before_password = 16384;

std::optional<std::int64_t> whole_number(std::string_view text) {
    std::int64_t value = 0;
    const char* end = text.data() + text.size();
    const auto [rest, failed] = std::from_chars(text.data(), end, value);
    if (failed != std::errc() || rest != end) return std::nullopt;
    return value;
}

}  // namespace

std::span<char> request_reader::space() {
    if (begin_ + at_ == end_ && left_ == 0) {
        begin_ = end_ = at_ = 0;
        if (capacity_ > kept_room) {
            buffer_.reset();
            capacity_ = 0;
        }
    }
    if (capacity_ == 0) {
        capacity_ = first_room;
        buffer_ = std::make_unique_for_overwrite<char[]>(capacity_);
    }
    if (capacity_ - end_ >= first_room / 2) return {buffer_.get() + end_, capacity_ - end_};
    const std::size_t held = end_ - begin_;
    if (held > capacity_ / 2) {
        const std::size_t larger = capacity_ * 2;
        auto fresh = std::make_unique_for_overwrite<char[]>(larger);
        std::memcpy(fresh.get(), buffer_.get() + begin_, held);
        buffer_ = std::move(fresh);
        capacity_ = larger;
    } else {
        std::memmove(buffer_.get(), buffer_.get() + begin_, held);
    }
    begin_ = 0;
    end_ = held;
    return {buffer_.get() + end_, capacity_ - end_};
}

void request_reader::leave_request() noexcept {
    begin_ += std::exchange(at_, 0);
    places_.clear();
    words_.clear();
}

request_reader::step request_reader::break_off(std::string problem) {
    problem_ = std::move(problem);
    return step::broken;
}

request_reader::state request_reader::next() {
    if (!problem_.empty()) return state::broken;
    if (left_ == 0) leave_request();
    while (true) {
        switch (left_ == 0 ? start() : read_word()) {
            case step::more: continue;
            case step::incomplete: return state::incomplete;
            case step::broken: return state::broken;
            case step::done: break;
        }
        if (words_.empty()) {
            for (const place& p : places_) {
                words_.emplace_back(buffer_.get() + begin_ + p.offset, p.length);
            }
        }
        return state::request;
    }
}

request_reader::step request_reader::start() {
    if (rest().empty()) return step::incomplete;
    return rest().front() == '*' ? read_count() : read_line();
}

bool request_reader::line(std::string_view& text) const noexcept {
    const std::string_view all = rest();
    const std::size_t end = all.find('\r');
    if (end == std::string_view::npos || end + 2 > all.size()) return false;
    text = all.substr(0, end);
    return true;
}

request_reader::step request_reader::read_count() {
    std::string_view text;
    if (!line(text)) {
        if (rest().size() <= longest_line) return step::incomplete;
        return break_off("Protocol error: too big mbulk count string");
    }
    const auto count = whole_number(text.substr(1));
    if (!count || *count > static_cast<std::int64_t>(limits_.words)) {
        return break_off("Protocol error: invalid multibulk length");
    }
    if (!trusted_ && *count > static_cast<std::int64_t>(words_before_password)) {
        return break_off("Protocol error: unauthenticated multibulk length");
    }
    at_ += text.size() + 2;
    if (*count <= 0) {
        leave_request();
    } else {
        left_ = static_cast<std::size_t>(*count);
    }
    return step::more;
}

request_reader::step request_reader::read_line() {
    const std::string_view all = rest();
    const std::size_t end = all.find('\n');
    if (end == std::string_view::npos) {
        if (all.size() <= longest_line) return step::incomplete;
        return break_off("Protocol error: too big inline request");
    }
    std::string_view text = all.substr(0, end);
    if (text.ends_with('\r')) text.remove_suffix(1);
    auto split = split_line(text);
    if (!split) return break_off("Protocol error: unbalanced quotes in request");
    at_ += end + 1;
    line_words_ = std::move(*split);
    if (line_words_.empty()) {
        leave_request();
        return step::more;
    }
    words_.assign(line_words_.begin(), line_words_.end());
    return step::done;
}

request_reader::step request_reader::read_word() {
    if (next_ < 0) {
        if (const step s = read_length(); s != step::more) return s;
    }
    const auto length = static_cast<std::size_t>(next_);
    if (rest().size() < length + 2) return step::incomplete;
    places_.push_back({at_, length});
    at_ += length + 2;
    next_ = -1;
    return --left_ == 0 ? step::done : step::more;
}

request_reader::step request_reader::read_length() {
    std::string_view text;
    if (!line(text)) {
        if (rest().size() <= longest_line) return step::incomplete;
        return break_off("Protocol error: too big bulk count string");
    }
    if (text.empty() || text.front() != '$') {
        const char first = text.empty() ? '\r' : text.front();
        return break_off(
            fmt::format("Protocol error: expected '$', got '{}'", first < ' ' ? ' ' : first));
    }
    const auto length = whole_number(text.substr(1));
    if (!length || *length < 0 || static_cast<std::size_t>(*length) > limits_.word_bytes) {
        return break_off("Protocol error: invalid bulk length");
    }
    if (!trusted_ && static_cast<std::size_t>(*length) > bytes_before_password) {
        return break_off("Protocol error: unauthenticated bulk length");
    }
    at_ += text.size() + 2;
    if (at_ + static_cast<std::size_t>(*length) > limits_.bytes) {
        return break_off(
            fmt::format("Protocol error: a request of more than {} bytes", limits_.bytes));
    }
    next_ = *length;
    return step::more;
}

}  // namespace holdfast::resp
