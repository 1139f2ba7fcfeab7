// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "lease/quorum/delayed_calls.hpp"
#include "lease/quorum/quorum_nodes.hpp"

#include <holdfast/engine/lease_store.hpp>

#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

/// Ending owners at nodes that did not answer when they should have.
///
/// A node that was silent may hold what it was asked for, or may carry it out yet. So the owner is
/// ended there again and again, ever more rarely, until the node says that it found something, or
/// the lease is over by itself. Until then the owner is not asked for there: an ending that comes
/// late would end it.
namespace holdfast::detail {

/// Thread safety: all members may be called from any thread.
class quorum_cleanup : public std::enable_shared_from_this<quorum_cleanup> {
public:
    /// Past that, further ones are left to their ttl.
    static constexpr std::size_t most = 10'000;

    quorum_cleanup(std::shared_ptr<quorum_nodes> door, std::shared_ptr<delayed_calls> calls,
                   clock& time, duration node_timeout);

    /// Requires: the owner will not be asked for any more.
    void add(std::size_t node, ask::leave request, time_point until);

    /// Sends all of them once more, now.
    void send_all();

    /// By node: is this owner being ended there? Empty if nowhere.
    [[nodiscard]] std::vector<bool> of(const owner_token& owner, const lock_name& name) const;

    [[nodiscard]] std::size_t size() const noexcept { return size_; }

private:
    struct leaving {
        ask::leave request;
        time_point until;
        duration pause;
    };
    struct key {
        owner_token owner;
        lock_name name;
        std::size_t node;
        friend auto operator<=>(const key&, const key&) = default;
    };

    void send(const key& which);
    void answered(const key& which, const result<lease_reply>& reply);
    void forget(const key& which);

    const std::shared_ptr<quorum_nodes> door_;
    const std::shared_ptr<delayed_calls> calls_;
    clock& time_;
    const duration node_timeout_;
    mutable std::mutex mutex_;
    std::map<key, leaving> all_;
    std::atomic<std::size_t> size_ = 0;
};

}  // namespace holdfast::detail
