// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <holdfast/clock.hpp>
#include <holdfast/push/counters.hpp>
#include <holdfast/push/log.hpp>
#include <holdfast/push/settings.hpp>

#include <cstdint>
#include <deque>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

/// What a consumer decides: which room it looks at, when, and what follows. No I/O, no clock.
///
///     take(entry) -> due(): look -> looked(): acquire -> broadcast order -> after_broadcast()
///                      ^                 | wait                                  |
///                      +-----------------+---------------------------------------+
///
/// An entry stays here, and pending in the queue, until the room's cursor has passed it: by a
/// broadcast of this consumer or of another. So whatever goes wrong ends in another look, and
/// nothing but the cursor ends an entry (but for mode drop, and rooms that the engine forgot).
namespace holdfast::push {

/// One entry of the queue: a post, or the report of a duplicate.
struct queue_entry {
    std::string id;
    std::string room;
    std::string epoch = {};
    std::uint64_t first = 0;
    std::uint64_t last = 0;
    bool important = false;
    std::string duplicate = {};  // the message's id; empty for a post
};

/// What a look at a room shows.
struct room_view {
    std::string epoch;  // empty: there is no such room
    std::uint64_t tail = 0;
    std::uint64_t cursor = 0;
    std::int64_t cooldown_ms = -2;  // as PTTL: -2 there is none, -1 it never ends
};

/// What to broadcast.
struct broadcast_order {
    std::string epoch;
    push::mode mode;
    bool all = false;   // otherwise the first post behind the cursor
    bool more = false;  // goes on after a frame that was full
    std::uint64_t first = 0;
    std::uint64_t last = 0;
    duration cooldown = duration::zero();
    std::vector<std::pair<std::string, std::uint64_t>> entries;  // to acknowledge: id, last
};

/// What broadcast.lua answers.
struct broadcast_answer {
    enum class kind : std::uint8_t { sent, nothing, fenced, gone, cooling } what = kind::nothing;
    std::uint64_t cursor = 0;
    std::uint64_t tail = 0;
    std::uint64_t count = 0;
    std::uint64_t viewers = 0;
    std::uint64_t waited_ms = 0;
    std::int64_t cooldown_ms = -2;
};

class consumer_plan {
public:
    enum class verdict : std::uint8_t { acquire, wait };
    enum class next_step : std::uint8_t { again, release };

    /// Requires: `s` and `counts` outlive this.
    consumer_plan(std::size_t number, const settings& s, log_sink log, counters& counts);

    /// False: this consumer has it already.
    bool take(queue_entry entry, time_point now);

    /// Rooms that are to be looked at, in the order in which they fell due.
    [[nodiscard]] std::vector<std::string> due(time_point now) const;
    /// When the next one falls due; time_point::max() if there is none.
    [[nodiscard]] time_point wake() const;

    [[nodiscard]] verdict looked(const std::string& room, const room_view& seen, time_point now);
    void lock_acquired(const std::string& room);
    void lock_busy(const std::string& room, time_point now);
    [[nodiscard]] broadcast_order order(const std::string& room) const;
    [[nodiscard]] next_step broadcast(const std::string& room, const broadcast_answer& answer,
                                      time_point now);
    void lock_released(const std::string& room);
    /// The engine failed; the room is looked at again.
    void failed(const std::string& room, std::string_view why, time_point now);

    /// Ids that are to be acknowledged, and are forgotten here.
    [[nodiscard]] std::vector<std::string> take_acknowledged();
    /// Ids of all entries that are not done.
    [[nodiscard]] std::vector<std::string> pending() const;

private:
    struct room_work {
        std::deque<queue_entry> entries;
        time_point due;
        time_point looked{};        // when a cooldown was seen last
        bool deferred = false;      // some wait for a cooldown to end: then all travel together
        std::size_t announced = 0;  // entries, from the front, that were logged as deferred
        unsigned tries = 0;
        bool busy_told = false;
        bool more = false;  // a frame was full: the rest follows under the same lock
    };

    void say(log_level level, std::string_view text) const;
    void finish(queue_entry& entry);
    void drop_passed(room_work& work, std::uint64_t cursor, bool acknowledged);
    void adopt_epoch(room_work& work, const room_view& seen);
    void count_skipped(const std::string& room);
    void skip_in_cooldown(const std::string& room, room_work& work);
    void announce_deferred(const std::string& room, room_work& work);
    void defer(const std::string& room, room_work& work, std::int64_t cooldown_ms, time_point now);
    void retry(room_work& work, time_point now);

    const std::string name_;
    const settings& settings_;
    const log_sink log_;
    counters& counts_;
    std::map<std::string, room_work> rooms_;
    std::set<std::string> ids_;
    std::vector<std::string> acknowledged_;
};

}  // namespace holdfast::push
