// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <holdfast/engine/command_access.hpp>
#include <holdfast/error.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>

/// What channel<T> stands on: the same for bytes. See channel.hpp for the contracts.
namespace holdfast {

struct channel_options {
    std::string prefix = "channel:";
    /// Keep the messages in a stream, so that a subscriber that was away reads them later.
    bool reliable = false;
    /// Reliable: how many messages are kept. 1 to 1,000,000.
    std::size_t keep = 10'000;
    /// Reliable: how long they are kept after the last one.
    duration life = std::chrono::days(1);
    /// On a Cluster, publish on the node of the channel only, which Redis 7 can: otherwise each
    /// message goes to all nodes. Elsewhere it means nothing. All users of a channel must say the
    /// same.
    bool sharded = true;
    /// The largest message. At most 64 MiB.
    std::size_t max_bytes = std::size_t{1} << 20U;
    /// How long the engine may take to answer.
    duration timeout = std::chrono::seconds(1);
};

/// What becomes of a message when the queue of a slow subscriber is full. (A reliable channel needs
/// none: what a subscriber has not read yet is in the stream.)
enum class slow_policy : std::uint8_t {
    drop_oldest,  ///< The oldest in the queue goes; the next message tells how many were lost.
    drop_newest,  ///< The new one goes; a later message tells how many were lost.
    end           ///< The subscription ends: next() answers `busy` after what is in the queue.
};

struct subscribe_options {
    /// The most messages and bytes that wait for next(). 1 to 1,000,000 messages.
    std::size_t queue = 1000;
    std::size_t queue_bytes = std::size_t{16} << 20U;
    slow_policy slow = slow_policy::drop_oldest;
    /// Reliable: begin behind this offset; "0": with the oldest message that is kept. Nothing: with
    /// the next message that is published.
    std::optional<std::string> after{};
};

struct published {
    /// How many subscribers got it at once; on a Cluster, of the node that was asked.
    std::uint64_t receivers = 0;
    /// Reliable: where it stands. Empty otherwise.
    std::string offset;
};

namespace detail {

struct message_bytes {
    std::string bytes;
    std::string offset;
    std::uint64_t lost = 0;
    bool gap = false;
};

class subscriber_bytes {
public:
    virtual ~subscriber_bytes() = default;
    virtual result<std::optional<message_bytes>> next(duration wait,
                                                      const std::stop_token& stop) = 0;
};

class channel_bytes {
public:
    virtual ~channel_bytes() = default;
    virtual result<published> publish(std::string_view message) = 0;
    virtual result<std::unique_ptr<subscriber_bytes>> subscribe(
        const subscribe_options& options) = 0;
};

[[nodiscard]] std::shared_ptr<channel_bytes> make_channel(command_access where,
                                                          std::string_view name,
                                                          channel_options options);

}  // namespace detail
}  // namespace holdfast
