// SPDX-License-Identifier: Apache-2.0
#include "resp/mailbox.hpp"

#include <utility>

namespace holdfast::resp {

void mailbox::put(letter l) {
    bool first = false;
    {
        const std::scoped_lock guard(mutex_);
        if (l.what != letter::kind::served) {
            constexpr std::size_t overhead = sizeof(letter);
            std::size_t& held = bytes_[l.client];
            if (held > most_bytes_) return;  // it was told already
            held += overhead + l.channel.size() + l.payload.size() + l.pattern.size();
            if (held > most_bytes_) l = {.client = l.client, .what = letter::kind::overflow};
        }
        first = letters_.empty();
        letters_.push_back(std::move(l));
    }
    if (first) wake_();
}

std::deque<letter> mailbox::take() {
    const std::scoped_lock guard(mutex_);
    bytes_.clear();
    return std::exchange(letters_, {});
}

}  // namespace holdfast::resp
