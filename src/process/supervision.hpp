// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "process/child.hpp"
#include "process/foreground.hpp"
#include "process/guardian.hpp"
#include "process/signal_inbox.hpp"

#include <holdfast/lease.hpp>

#include <functional>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>

/// From the command's start to its end: its signals, its terminal, and its lease.
///
/// The command must be gone before anyone else can hold the name. A lease that cannot be renewed is
/// therefore not waited for to the last: when only `grace` of it is left, the command is asked to
/// end (SIGTERM), and at the lease's end it is killed. A lease that is taken away (an operator, an
/// engine that lost its data) is over at once: then the grace begins when we hear of it.
///
/// The lease covers the command's whole process group. What the command leaves behind there when it
/// ends is ended too, the same way, before the lease is given back.
namespace holdfast::app {

/// In words. Requires: it was.
[[nodiscard]] std::string why_lost(const lease& held);

class supervision {
public:
    struct parts {
        child& command;
        const lease& held;
        guardian& guard;
        signal_inbox& signals;
        const foreground& front;
    };

    struct settings {
        duration grace;
        std::function<void(std::string_view)> tell;  ///< What a person should know.
    };

    struct ending {
        int code;              ///< The command's, or 128 + its signal.
        std::string why_lost;  ///< Empty, unless we ended it for the lease's sake.
    };

    supervision(parts on, settings how);

    /// Blocks: until the command and its group are gone.
    [[nodiscard]] ending run();

private:
    [[nodiscard]] duration step();
    void look_at_lease(time_point now);
    void ask_to_end(time_point now, std::string why);
    void hear(int signal);
    void on_stop(int signal);
    void end_the_rest();
    void wait(duration at_most) const;

    parts on_;
    settings how_;
    clock& clock_;
    descriptor lost_bell_;
    std::optional<std::stop_callback<std::function<void()>>> on_lost_;
    std::optional<int> code_;
    std::optional<time_point> kill_at_;
    std::optional<time_point> low_since_;  ///< Since when less than the grace is left of the lease.
    std::string why_lost_;
};

}  // namespace holdfast::app
