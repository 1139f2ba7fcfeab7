// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <holdfast/clock.hpp>
#include <holdfast/engine/lease_store.hpp>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

/// The way to the nodes of a quorum, which can be closed.
///
/// Answers come on the nodes' own threads and may make a request of their own. Nothing that such a
/// thread holds may keep a node alive, or the node would end on its own thread; so everybody but
/// the store goes through this door, which the store closes before its nodes end.
namespace holdfast::detail {

/// Thread safety: all members may be called from any thread.
class quorum_nodes {
public:
    explicit quorum_nodes(const std::vector<std::shared_ptr<lease_store>>& nodes) {
        for (const auto& node : nodes) nodes_.push_back(node.get());
    }

    [[nodiscard]] std::size_t size() const noexcept { return nodes_.size(); }

    /// As the node's own submit(). A closed door answers `unavailable`.
    void submit(std::size_t node, std::vector<lease_request> requests, time_point give_up,
                const lease_store::reply_handler& on_reply) {
        const visit inside(*this);
        if (!inside.open) {
            for (std::size_t i = 0; i < requests.size(); ++i) {
                on_reply(i, fail(errc::unavailable, "the client is closing"));
            }
            return;
        }
        flying_->fetch_add(requests.size());
        // The answer comes after what it makes others send, so that nothing is between them.
        nodes_[node]->submit(std::move(requests), give_up,
                             [flying = flying_, on_reply](std::size_t i, result<lease_reply> said) {
                                 on_reply(i, std::move(said));
                                 flying->fetch_sub(1);
                             });
    }

    /// Blocks: until all that was submitted is answered, at most until `until`.
    void await_answers(clock& time, time_point until) {
        std::mutex mutex;
        std::condition_variable nobody;  // an answer must not need a lock: it is looked for
        std::unique_lock held(mutex);
        while (flying_->load() > 0 && time.now() < until) {
            time.wait_until(held, nobody, std::min(until, time.now() + look_every));
        }
    }

    /// Blocks: until nobody is inside, which is never long.
    void close() noexcept {
        closed_ = true;
        for (auto now = inside_.load(); now > 0; now = inside_.load()) inside_.wait(now);
    }

private:
    struct visit {
        explicit visit(quorum_nodes& to) : door(to) {
            ++door.inside_;
            open = !door.closed_;
        }
        ~visit() {
            if (--door.inside_ == 0) door.inside_.notify_all();
        }
        visit(const visit&) = delete;
        visit& operator=(const visit&) = delete;
        quorum_nodes& door;
        bool open = false;
    };

    static constexpr duration look_every = std::chrono::milliseconds(1);

    std::vector<lease_store*> nodes_;
    /// Requests that are not answered yet. Their answers may come when this is gone.
    const std::shared_ptr<std::atomic<std::size_t>> flying_ =
        std::make_shared<std::atomic<std::size_t>>(0);
    std::atomic<unsigned> inside_ = 0;
    std::atomic<bool> closed_ = false;
};

}  // namespace holdfast::detail
