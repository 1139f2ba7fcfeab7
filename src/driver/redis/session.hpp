// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "driver/redis/counters.hpp"
#include "driver/redis/link.hpp"
#include "driver/redis/wire.hpp"

#include <holdfast/engine/command_engine.hpp>

#include <memory>
#include <mutex>
#include <string_view>
#include <vector>

/// Connections of one's own, lent from a bounded pool.
///
/// A connection goes back to the pool only if nothing of the borrower's clings to it: no WATCH, no
/// open MULTI, no changed database, and no reply that is still to come.
namespace holdfast::redis {

/// Does a command leave something behind on the connection?
enum class trace : std::uint8_t { none, watching, clean_again, stained };
[[nodiscard]] trace trace_of(std::string_view command_name) noexcept;

/// Thread safety: all members may be called from any thread.
class session_pool : public std::enable_shared_from_this<session_pool> {
public:
    session_pool(const profile& p, server_locator where, clock& time,
                 std::shared_ptr<counters> counts);

    /// Errors: unavailable (all are lent, or no connection), denied, timed_out.
    [[nodiscard]] result<std::unique_ptr<command_session>> lend(time_point give_up);

    /// Sessions that were lent before `moment` answer `unavailable` from now on, and their
    /// connections are not lent again, unless they lead to `spared`. What they wait for at this
    /// moment goes on.
    void retire_before(time_point moment, const server_address* spared = nullptr);

private:
    friend class pooled_session;
    void give_back(std::unique_ptr<wire> connection, time_point born) noexcept;
    [[nodiscard]] bool retired(const wire& connection, time_point born);
    [[nodiscard]] bool is_retired(const wire& connection, time_point born) const noexcept;
    void count_end() noexcept;

    const profile profile_;
    server_locator where_;
    clock& time_;
    std::shared_ptr<counters> counts_;  ///< A lent session may outlive the client.
    std::mutex mutex_;
    struct resting {
        std::unique_ptr<wire> connection;
        time_point born;
    };
    std::vector<resting> idle_;
    time_point all_retired_until_ = time_point::min();
    time_point others_retired_until_ = time_point::min();  ///< Those that do not lead to spared_.
    server_address spared_;
    std::size_t lent_ = 0;
};

}  // namespace holdfast::redis
