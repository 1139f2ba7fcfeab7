// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

/// Batches outcomes that become known together and go to the same executor.
///
/// A thread that has read a batch of replies opens a round before it reports them. Code that
/// forwards an outcome to other threads may put it into the round's parcel instead of sending it at
/// once; the parcel is sent when the round ends. So a batch wakes others once, and not for each of
/// its replies.
namespace holdfast::detail {

/// Thread safety: none. It belongs to the thread that opened it, which waits for nothing while it
/// is open.
class delivery_round {
public:
    /// Outcomes for one executor.
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

private:
    void send();

    delivery_round* const outer_;
    std::unique_ptr<parcel> open_;
};

}  // namespace holdfast::detail
