// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <holdfast/clock.hpp>

#include <map>
#include <mutex>
#include <string>
#include <string_view>

/// Since when each server is known to have been the one that it is.
///
/// A server is its run id and its replication id (scripts/boot.lua): another one after a restart,
/// and after a promotion. One that has been the same for longer than a quarantine lasts has nothing
/// to forget, whatever is stored in the slot that is asked for. A client learns that from a server
/// that it was refused by a while ago, or by asking around (server_inquiry.hpp).
namespace holdfast {

/// Thread safety: all members may be called from any thread.
class known_servers {
public:
    /// It was this server at that moment, by our clock.
    void note(std::string_view server, time_point when);

    /// Whether a quarantine of this length must be over.
    [[nodiscard]] bool older_than(std::string_view server, duration window, time_point now) const;

    /// Whether to ask around how old it is: no more often than once a second.
    [[nodiscard]] bool may_ask(std::string_view server, time_point now);

private:
    static constexpr std::size_t most = 1000;
    static constexpr duration pause = std::chrono::seconds(1);

    struct sight {
        time_point since;
        time_point next_question = time_point::min();
    };
    sight& find(std::string_view server, time_point now);

    mutable std::mutex mutex_;
    std::map<std::string, sight, std::less<>> seen_;
};

}  // namespace holdfast
