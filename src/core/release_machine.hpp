// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <holdfast/engine/lease_store.hpp>

#include <string>
#include <variant>

/// Giving one lease back, as a machine without I/O.
///
/// A release is sent once, and again only when its answer was lost: "not yours" then means that the
/// first one worked. What stays unknown goes on in the background.
namespace holdfast::detail {

/// What is known of a lease at the moment it is given back.
struct release_plan {
    ask::release request;
    /// Whether it was still ours by our own clock.
    bool in_time = true;
    time_point give_up;
};

class release_machine {
public:
    /// Points into the machine: a blocking caller sends it without a copy.
    struct send {
        const lease_request* request;
        time_point give_up;
    };
    struct finish {
        result<void> outcome;
        /// The engine may still think that it is ours: go on sending `leave` in the background.
        bool leftover = false;
        /// The words of whoever took it away before.
        std::string evicted = {};
    };
    using action = std::variant<send, finish>;

    explicit release_machine(release_plan plan);

    // Events. `start` comes first; after `send`, `on_reply` comes exactly once.
    [[nodiscard]] action start() const;
    [[nodiscard]] action on_reply(const result<lease_reply>& reply, time_point now);

private:
    lease_request request_;
    bool in_time_;
    time_point give_up_;
    bool asked_again_ = false;
};

}  // namespace holdfast::detail
