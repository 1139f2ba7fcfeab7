// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "lease/commands/lease_commands.hpp"

#include <optional>
#include <span>
#include <string_view>

/// One lease request, from its first trip to its answer, without I/O.
///
/// The fast path may find that it is not enough (the name is taken, the fences were lost): then the
/// same request goes the full way. Whoever drives it sends what commands() says and brings back the
/// replies; so the store and the simulation take the same turns.
///
/// If a first trip took the name, or may have, and then something fails, the outcome is unknown,
/// whatever the second trip says of itself: whoever asked must ask again or leave. Leaving for it
/// here would be wrong, since a leave that is late could end a later grant.
namespace holdfast {

class lease_request_machine {
public:
    /// Must begin() before all else.
    lease_request_machine() = default;
    lease_request_machine(const command_lease_options& options, const lease_request& request,
                          lease_way first, lease_form form) {
        begin(options, request, first, form);
    }

    /// Once. Requires: both outlive it.
    void begin(const command_lease_options& options, const lease_request& request, lease_way first,
               lease_form form);

    /// Of the next trip.
    [[nodiscard]] lease_way way() const noexcept { return way_; }

    /// Whether the next trip can make the caller wait in the queue: then it needs a channel.
    [[nodiscard]] bool may_wait() const noexcept;

    /// Makes the commands of the next trip. `channel` outlives them.
    void speak(std::string_view channel);
    [[nodiscard]] std::span<const command> commands() const noexcept { return said_.commands(); }
    [[nodiscard]] const lease_commands& said() const noexcept { return said_; }

    /// What the replies mean; nothing, if another trip is needed.
    /// Requires: replies.size() == commands().size().
    [[nodiscard]] std::optional<result<lease_reply>> hear(std::span<result<reply>> replies);

    /// Somebody waits for the name, or holds it.
    [[nodiscard]] bool contended() const noexcept { return said_.contended(); }

    /// The server that granted nothing because it is in quarantine; empty if it was not, and if it
    /// was told once already how old it is.
    [[nodiscard]] std::string_view quarantined() const noexcept {
        return said_.vouches() ? std::string_view() : said_.quarantined();
    }
    /// Makes the next trip tell that server that it has been that one for longer than the window.
    /// Requires: it has (known_servers.hpp), and quarantined() is not empty.
    void vouch() { said_.vouch(); }

private:
    const command_lease_options* options_ = nullptr;
    const lease_request* request_ = nullptr;
    lease_way way_ = lease_way::full;
    lease_form form_ = lease_form::several;
    bool may_have_taken_ = false;
    lease_commands said_;
};

}  // namespace holdfast
