// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/upkeep.hpp"

#include <cstddef>
#include <memory>
#include <stop_token>

/// The threads that fire lost().
///
/// std::stop_source::request_stop() runs the callbacks that were registered on its token, on the
/// thread that calls it. Callbacks are users' code and may block, so each lost lease needs a thread
/// that is not blocked by the callbacks of another: a worker that takes a lease first makes sure
/// that one more worker is there for the next. The pool therefore grows with the number of
/// callbacks that block at the same time, up to `most_threads`; a worker that finds nothing to do
/// ends, except the last. Callbacks of one lease run one after the other, as the standard has it.
///
/// At the bound: leases that are lost while `most_threads` callbacks block fire lost() when one of
/// those returns, in the order of their losses. held() and status() do not depend on this pool.
namespace holdfast::detail {

/// Thread safety: all members may be called from any thread.
class loss_pool {
public:
    static constexpr std::size_t most_threads = 128;

    explicit loss_pool(upkeep by = upkeep::threads);
    loss_pool(const loss_pool&) = delete;
    loss_pool& operator=(const loss_pool&) = delete;
    ~loss_pool();

    /// Requests that stop soon, on a thread of the pool. What a callback throws ends the process,
    /// as std::stop_source has it.
    void fire(std::stop_source lost);

    /// Fires what is left, and waits until all callbacks have returned. From a callback it waits
    /// for nothing. Afterwards fire() does nothing.
    void close();

    /// Fires what is queued. For whoever runs it by hand.
    void step();

private:
    struct desk;
    static void run(const std::shared_ptr<desk>& desk);

    const upkeep by_;
    const std::shared_ptr<desk> desk_;
};

}  // namespace holdfast::detail
