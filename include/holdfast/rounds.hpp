// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <holdfast/clock.hpp>

#include <memory>
#include <vector>

/// What happens together travels together.
///
/// A thread that deals with a batch of things opens a round first, and calls step() between two of
/// them. What somebody else must be told of meanwhile may be left in the round instead of being
/// sent at once; it is sent when the round ends, or at a step if it has waited for long. So a batch
/// wakes another thread once, and not for each of its things.
namespace holdfast::detail {

/// Outcomes on their way to those who wait for them.
///
/// Thread safety: none. It belongs to the thread that opened it.
class delivery_round {
public:
    /// Outcomes for one place.
    class parcel {
    public:
        virtual ~parcel() = default;
        /// Called once.
        virtual void send() = 0;
    };

    /// Opens it for this thread.
    delivery_round() noexcept;
    delivery_round(const delivery_round&) = delete;
    delivery_round& operator=(const delivery_round&) = delete;
    ~delivery_round();

    /// The one that is open on this thread, or null.
    [[nodiscard]] static delivery_round* current() noexcept;

    /// The parcel that was begun last and is not sent yet, or null.
    [[nodiscard]] parcel* open() const noexcept { return open_.get(); }

    /// Begins another parcel; the last one is sent, so that the order of outcomes is kept.
    void begin(std::unique_ptr<parcel> next);

    void step();

private:
    void send();

    delivery_round* const outer_;
    std::unique_ptr<parcel> open_;
    time_point since_{};
};

/// Requests on their way to an engine.
///
/// Thread safety: none. It belongs to the thread that opened it.
class request_round {
public:
    /// A part of an engine that has left requests in its queue.
    class sender {
    public:
        virtual ~sender() = default;
        virtual void send_gathered() = 0;
    };

    /// Opens it for this thread.
    request_round() noexcept;
    request_round(const request_round&) = delete;
    request_round& operator=(const request_round&) = delete;
    ~request_round();

    /// The one that is open on this thread, or null.
    [[nodiscard]] static request_round* current() noexcept;

    /// It will be told to send.
    void add(const std::shared_ptr<sender>& one);

    void step();

private:
    void send();

    request_round* const outer_;
    std::vector<std::shared_ptr<sender>> senders_;
    time_point since_{};
};

}  // namespace holdfast::detail
