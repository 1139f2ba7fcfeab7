// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "net/server.hpp"
#include "net/websocket_frames.hpp"

#include <array>
#include <cstddef>
#include <string>
#include <vector>

#include <sys/uio.h>

/// Bytes that wait for a socket: texts that are shared with other connections, each behind the few
/// bytes of its own frame header. They are given to the kernel together.
namespace holdfast::net {

class output_queue {
public:
    /// Bytes as they are.
    void push(std::string bytes);

    /// A frame around a text. Compressed: the text is compressed already.
    void push_frame(opcode what, shared_text text, compression how = compression::none);

    [[nodiscard]] bool empty() const noexcept { return head_ == chunks_.size(); }
    [[nodiscard]] std::size_t bytes() const noexcept { return bytes_; }

    static constexpr std::size_t most_parts = 64;
    using parts = std::array<iovec, most_parts>;

    /// The first bytes of the queue, in parts; returns how many parts.
    [[nodiscard]] std::size_t gather(parts& out) const noexcept;

    /// The kernel took so many of them. Returns how many chunks are thereby done.
    std::size_t took(std::size_t bytes) noexcept;

private:
    struct chunk {
        shared_text text;
        std::array<char, 10> header{};
        std::uint8_t header_size = 0;

        [[nodiscard]] std::size_t size() const noexcept { return header_size + text->size(); }
    };

    std::vector<chunk> chunks_;
    std::size_t head_ = 0;
    std::size_t sent_ = 0;  // bytes of the first chunk
    std::size_t bytes_ = 0;
};

}  // namespace holdfast::net
