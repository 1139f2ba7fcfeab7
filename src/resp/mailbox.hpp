// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <mutex>
#include <string>
#include <string_view>
#include <unordered_map>

/// What other threads have for the clients of a server: messages that were published, and the news
/// that a blocked client was served. The server's thread takes it out.
///
/// Bounded: of messages for one client, up to so many bytes; after that it is told once that
/// messages were left out, and its connection is ended, as Redis does with a slow subscriber.
///
/// Thread safety: all members.
namespace holdfast::resp {

struct letter {
    enum class kind : std::uint8_t { message, pattern_message, shard_message, served, overflow };
    std::uint64_t client;
    kind what;
    std::string channel{};
    std::string payload{};
    std::string pattern{};
};

class mailbox {
public:
    /// `wake` is called when the first letter lies in it, on whatever thread put it there.
    mailbox(std::size_t most_bytes, std::function<void()> wake)
        : most_bytes_(most_bytes), wake_(std::move(wake)) {}

    void put(letter l);
    [[nodiscard]] std::deque<letter> take();

private:
    const std::size_t most_bytes_;
    const std::function<void()> wake_;
    std::mutex mutex_;
    std::deque<letter> letters_;
    std::unordered_map<std::uint64_t, std::size_t> bytes_;  // of each client's messages
};

}  // namespace holdfast::resp
