// SPDX-License-Identifier: Apache-2.0
#include "driver/memory/sink.hpp"

#include "driver/memory/numbers.hpp"

#include <algorithm>

namespace holdfast::memory {

void sink::number(double value) {
    number_text room;
    string(format_double(value, room));
}

void reply_sink::array(std::size_t length) {
    if (length == 0) {
        put(reply::array({}));
        return;
    }
    // The length is what a command promises, not what fits: reserve a bounded part of it.
    constexpr std::size_t most = 4096;
    open_.push_back({{}, length});
    open_.back().elements.reserve(std::min(length, most));
}

void reply_sink::put_nested(reply&& r) {
    open_.back().elements.push_back(std::move(r));
    while (!open_.empty() && open_.back().elements.size() == open_.back().length) {
        reply whole = reply::array(std::move(open_.back().elements));
        open_.pop_back();
        if (open_.empty()) {
            root_ = std::move(whole);
        } else {
            open_.back().elements.push_back(std::move(whole));
        }
    }
}

}  // namespace holdfast::memory
