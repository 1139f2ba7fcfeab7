// SPDX-License-Identifier: Apache-2.0
#include "net/output_queue.hpp"

#include <algorithm>
#include <utility>

namespace holdfast::net {

void output_queue::push(std::string bytes) {
    chunk one{.text = std::make_shared<const std::string>(std::move(bytes))};
    bytes_ += one.size();
    chunks_.push_back(std::move(one));
}

void output_queue::push_frame(opcode what, shared_text text, compression how) {
    chunk one;
    one.header_size =
        static_cast<std::uint8_t>(put_frame_header(one.header, what, text->size(), how));
    one.text = std::move(text);
    bytes_ += one.size();
    chunks_.push_back(std::move(one));
}

std::size_t output_queue::gather(parts& out) const noexcept {
    std::size_t count = 0;
    std::size_t skip = sent_;
    const auto put = [&](const char* data, std::size_t size) {
        const std::size_t passed = std::min(skip, size);
        skip -= passed;
        if (passed == size) return;
        out[count++] = {const_cast<char*>(data + passed), size - passed};
    };
    for (std::size_t i = head_; i < chunks_.size() && count + 2 <= most_parts; ++i) {
        put(chunks_[i].header.data(), chunks_[i].header_size);
        put(chunks_[i].text->data(), chunks_[i].text->size());
    }
    return count;
}

std::size_t output_queue::took(std::size_t bytes) noexcept {
    bytes_ -= bytes;
    sent_ += bytes;
    std::size_t done = 0;
    while (head_ < chunks_.size() && sent_ >= chunks_[head_].size()) {
        sent_ -= chunks_[head_].size();
        chunks_[head_].text.reset();
        ++head_;
        ++done;
    }
    if (head_ == chunks_.size()) {
        head_ = 0;
        // An idle connection keeps no room for what a busy minute needed.
        if (chunks_.capacity() > 4) {
            chunks_ = {};
        } else {
            chunks_.clear();
        }
    } else if (head_ > 64) {
        chunks_.erase(chunks_.begin(), chunks_.begin() + static_cast<std::ptrdiff_t>(head_));
        head_ = 0;
    }
    return done;
}

}  // namespace holdfast::net
