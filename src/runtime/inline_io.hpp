// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "runtime/adaptive_yield.hpp"

#include <holdfast/clock.hpp>

#include <cstddef>
#include <functional>
#include <memory>
#include <vector>

/// A thread that waits for answers, and fetches them itself meanwhile.
///
/// Whoever submits a request and then sleeps until it is answered costs two thread switches: one to
/// wake the engine's thread, one to be woken by it. With several engines at once that is most of
/// the time. So the waiting thread opens a turn before it submits. An engine that is asked on this
/// thread and has a connection to which nobody listens writes at once, and leaves a guest here,
/// which reads while the turn lasts. What has not been answered at its end goes back to the engine:
/// the next turn reads it, or the engine's own thread, a moment later.
namespace holdfast::detail {

class inline_io {
public:
    /// One connection.
    class guest {
    public:
        virtual ~guest() = default;
        /// What poll() is to watch: the connection (POLLIN, POLLOUT), and a bell or -1.
        [[nodiscard]] virtual int descriptor() const = 0;
        [[nodiscard]] virtual int bell() const = 0;
        /// Asked before each poll(). Answers what to watch for; `wake` is when to come back in any
        /// case, and may only be brought forward.
        [[nodiscard]] virtual short expects(time_point& wake) = 0;
        /// Asked when there is something to do, or at its `wake`. False: the connection is gone,
        /// and so is what this guest stood for.
        [[nodiscard]] virtual bool serve(short ready, bool rung) = 0;
        /// Does anybody wait for an answer from here?
        [[nodiscard]] virtual bool busy() const = 0;
        /// Gives the connection back. Called once, unless serve() said that it is gone.
        virtual void leave() noexcept = 0;
    };

    /// Opens it for this thread. `waits`: how it waits.
    inline_io(clock& time, adaptive_yield& waits);
    inline_io(const inline_io&) = delete;
    inline_io& operator=(const inline_io&) = delete;
    /// All guests leave.
    ~inline_io();

    /// The one that is open on this thread, or null.
    [[nodiscard]] static inline_io* current() noexcept;

    void add(std::unique_ptr<guest> one);

    /// Serves until `over`, at most until `until`; at once if there is no guest. The answers' own
    /// handlers are called here. `over` is asked again every millisecond at least: what it depends
    /// on may also be answered elsewhere.
    void serve(time_point until, const std::function<bool()>& over);

    /// Serves for a moment more, so that answers which are about to come need no other thread.
    void linger(duration at_most);

private:
    void step(time_point until);

    clock& time_;
    adaptive_yield& waits_;
    inline_io* const outer_;
    std::vector<std::unique_ptr<guest>> guests_;
};

}  // namespace holdfast::detail
