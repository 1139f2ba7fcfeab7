// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "commands/serve/ops_series.hpp"
#include "commands/serve/ops_view.hpp"

#include <holdfast/client.hpp>
#include <holdfast/push/counters.hpp>
#include <holdfast/push/logic.hpp>
#include <holdfast/push/settings.hpp>

#include <condition_variable>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

/// Looks at the service for /ops: a sample of the counters each second, and rooms, locks and the
/// engine's health while somebody watches.
///
/// However many watch, the engine is asked at most twice a second for rooms. Listing locks goes
/// through all keys of the engine: it takes at most a twentieth of the time.
namespace holdfast::app {

class ops_watch {
public:
    /// The doctor's findings about the engine; may take a while.
    using examination = std::function<findings()>;

    /// Requires: all that is referred to outlives this.
    ops_watch(client& engine, const push::settings& s, push::counters& counts, examination examine);
    ~ops_watch();
    ops_watch(const ops_watch&) = delete;
    ops_watch& operator=(const ops_watch&) = delete;

    void start();
    void stop();

    /// Blocks: some trips, unless another call has just made them.
    [[nodiscard]] std::shared_ptr<const ops_view> look();

    [[nodiscard]] ops_series::part series(std::uint64_t since) const;

    static constexpr std::size_t most_rooms = 50;
    static constexpr std::size_t most_locks = 200;

private:
    // Since when something stands where it is.
    struct standstill {
        std::uint64_t at = 0;
        time_point since{};
    };

    void run();
    void sample();
    void examine_engine();
    void put_rooms(ops_view& to, time_point now);
    void put_locks(ops_view& to, time_point now);
    void put_recent(ops_view& to, time_point now);

    client& engine_;
    clock& time_;
    const push::settings& settings_;
    push::counters& counts_;
    examination examine_;
    push::logic logic_;

    std::mutex looking_;  // one look at a time; held during trips
    std::shared_ptr<const ops_view> last_;
    time_point looked_{};
    std::map<std::string, standstill> cursors_;
    standstill frames_;
    time_point next_listing_{};
    std::vector<lease_info> listed_;
    bool more_listed_ = false;

    mutable std::mutex mutex_;
    std::condition_variable changed_;
    bool stop_ = false;
    time_point watched_{};  // until when somebody does
    ops_series series_;
    std::uint64_t queue_ = 0;
    std::deque<ops_recent> totals_;  // of the last seconds
    findings health_;
    std::thread thread_;
};

}  // namespace holdfast::app
