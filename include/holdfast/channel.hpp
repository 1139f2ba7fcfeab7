// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <holdfast/cache_codec.hpp>
#include <holdfast/channel_bytes.hpp>

#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <utility>

/// Messages from many publishers to all who subscribe.
///
///     holdfast::channel<std::string> news(hf, "news_channel");
///     auto reader = news.subscribe();
///     auto sent = news.publish("rain tomorrow");
///     auto heard = reader->next(1s);
///     if (heard && *heard) show((*heard)->value);
///
/// There are two kinds. A **live** channel is Redis's publish/subscribe: a message reaches those
/// who listen now, once at most. Who was disconnected is told that there is a gap. A **reliable**
/// one keeps its messages in a stream, each with an offset: a subscriber begins behind the last
/// offset that it handled, and gets every message in order, as long as no more than `keep` were
/// published meanwhile. If there were more, the first one that it gets tells how many are lost.
///
/// Nothing grows without a bound: a live subscriber has a queue with a stated policy for when it is
/// full, and a reliable one reads a hundred at a time.
///
/// Limits. Redis replicates asynchronously: a failover can lose the latest messages of a stream; a
/// subscriber that had them already then sees a gap.
namespace holdfast {

template <class T>
struct message {
    T value;
    /// Reliable: give it to subscribe() to go on behind it. Empty otherwise.
    std::string offset;
    /// How many messages before this one are lost, as far as that is known.
    std::uint64_t lost = 0;
    /// Messages before this one may be lost, nobody knows how many: the connection was broken, or
    /// the stream began anew.
    bool gap = false;
};

/// Receives the messages of a channel while it exists.
/// Thread safety: one thread at a time.
template <encodable T>
class subscriber {
public:
    explicit subscriber(std::unique_ptr<detail::subscriber_bytes> bytes)
        : bytes_(std::move(bytes)) {}

    /// The next message. Nothing: none came.
    /// Errors: cancelled; busy (slow_policy::end: the queue was full; subscribe again); corrupt (a
    /// message that is no T: it is skipped); reliable also the engine's: call it again.
    /// Blocks: until there is one, at most `wait`. Cancellation: at once.
    [[nodiscard]] result<std::optional<message<T>>> next(duration wait,
                                                         const std::stop_token& stop = {}) {
        auto seen = bytes_->next(wait, stop);
        if (!seen) return std::unexpected(std::move(seen.error()));
        if (!*seen) return std::nullopt;
        auto value = codec<T>::decode((*seen)->bytes);
        if (!value) return std::unexpected(std::move(value.error()));
        return message<T>{*std::move(value), std::move((*seen)->offset), (*seen)->lost,
                          (*seen)->gap};
    }

private:
    std::unique_ptr<detail::subscriber_bytes> bytes_;
};

/// Thread safety: all members may be called from any thread. Copies are the same channel.
template <encodable T>
class channel {
public:
    /// Does no I/O; bad arguments are told by the first call. A live channel's Redis channel is
    /// prefix + name: with an empty prefix, `redis-cli SUBSCRIBE news_channel` hears it.
    channel(command_access where, std::string_view name, channel_options options = {})
        : bytes_(detail::make_channel(std::move(where), name, std::move(options))) {}

    /// Errors: invalid_argument (name, options, a message above max_bytes), unsupported (an engine
    /// without channels: sqlite:); the engine's; outcome_unknown: perhaps published.
    /// Blocks: one trip, at most `timeout`.
    [[nodiscard]] result<published> publish(const T& value) {
        return bytes_->publish(codec<T>::encode(value));
    }

    /// Errors: invalid_argument (options, an offset that is none), unsupported; the engine's.
    /// Blocks: until the engine has confirmed it, at most `timeout`. Messages that are published
    /// after that are received.
    [[nodiscard]] result<subscriber<T>> subscribe(const subscribe_options& options = {}) {
        auto made = bytes_->subscribe(options);
        if (!made) return std::unexpected(std::move(made.error()));
        return subscriber<T>(std::move(*made));
    }

private:
    std::shared_ptr<detail::channel_bytes> bytes_;
};

}  // namespace holdfast
