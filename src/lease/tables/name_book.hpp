// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <holdfast/engine/lease_store.hpp>

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

/// What is known about one name, and what a request makes of it: pure, no I/O, no clock.
///
/// A transaction loads the rows of a name into a book, lets it decide, and writes back what it
/// changed. So every database of the SQL family, and every mode, follows the same rules:
///
/// - Who fits: an exclusive holder is alone; shared ones stand together; so do permits of n, while
///   no more than n are taken.
/// - First come, first served: who comes while others wait waits behind them, whatever its mode. A
///   name is handed along the queue until the first that does not fit, who is not overtaken.
/// - A waiter that is handed the name holds it for its claim, until it is heard of. One of this
///   process is told; so is one of another process, if the database carries notes between them.
///   Otherwise that one finds out at its next look, some milliseconds later.
///
/// Times are the database's, in microseconds since 1970.
namespace holdfast::sql {

/// A waiter that is never woken still looks this often, as on every engine.
inline constexpr std::int64_t longest_poll = 1'000'000;

inline std::int64_t micros(duration d) {
    return std::chrono::ceil<std::chrono::microseconds>(d).count();
}

/// Which store waits: a process, drawn at random when it starts, and a number within it.
struct listener_id {
    std::int64_t process = 0;
    std::int64_t number = 0;
    friend auto operator<=>(const listener_id&, const listener_id&) = default;
};

/// Where a waiter's store is, as far as this process can say.
enum class hearing : std::uint8_t {
    here,
    told,       ///< In another process; the database carries notes to it.
    elsewhere,  ///< In another process; it has to look.
    gone,
};
using hearing_check = std::function<hearing(const listener_id&)>;

/// Whom a release wakes.
enum class wake_reach : std::uint8_t { process, everyone };

enum class stand : std::uint8_t {
    holds = 0,
    waits = 1,
    evicted = 2,  ///< Held it once; stays so that its owner can be told why it does not any more.
    resized = 3,  ///< Nobody: says in its mode how many permits there are, whoever asks.
};

/// One owner at a name.
struct party {
    std::string owner;
    stand at = stand::holds;
    lease_mode mode = {};
    std::int64_t fence = 0;
    /// Holds: the end of its lease. Waits: until when its place is kept. Evicted: until when the
    /// reason is.
    std::int64_t until = 0;
    std::int64_t since = 0;
    std::int64_t ticket = 0;  ///< Of a waiter: the order of the queue.
    std::int64_t claim = 0;   ///< Of a waiter; 0: it barges.
    std::int64_t spare = 0;   ///< Of a waiter: fences to reserve.
    listener_id listener = {};
    std::string reason = {};

    bool stored = false;   ///< It has a row of its own.
    bool changed = false;  ///< That row is to be written …
    bool gone = false;     ///< … or deleted.
};

/// To be told once the transaction is committed.
struct note {
    listener_id to;
    handed_off push;
};

class name_book {
public:
    static constexpr std::int64_t place = 3'000'000;          ///< As the engines on Redis.
    static constexpr std::int64_t longest_claim = 2'000'000;  ///< For one that is told.
    static constexpr std::int64_t blind_claim = 1'000'000;    ///< For one that has to look.
    static constexpr std::uint32_t most_waiters = 1000;
    /// So long after its last use is it known how many permits there are.
    static constexpr std::int64_t resized_for = 7LL * 24 * 3600 * 1'000'000;

    /// `top` is the largest fence that was reserved for the name, 0 if that cannot matter any more.
    name_book(std::int64_t now, std::int64_t top, std::vector<party> parties, hearing_check hears,
              wake_reach reach = wake_reach::process);

    /// `self` is the store that asks.
    result<lease_reply> acquire(const ask::acquire& asked, const listener_id& self);
    lease_reply renew(const ask::renew& asked);
    lease_reply release(const ask::release& asked);
    lease_reply leave(const ask::leave& asked);
    lease_reply adopt(const lease_adoption& asked, const listener_id& self);
    std::uint32_t evict(std::string_view reason);
    /// Nobody loses any; those in the queue get what there is more.
    void resize(std::uint32_t permits);
    /// Drops the dead, and hands the name to the living.
    void settle();

    [[nodiscard]] std::int64_t now() const noexcept { return now_; }
    [[nodiscard]] std::int64_t top() const noexcept { return top_; }
    /// Including those that are gone and whose rows are to be deleted.
    [[nodiscard]] std::vector<party>& parties() noexcept { return parties_; }
    /// Somebody waits, or several hold it.
    [[nodiscard]] bool is_crowd() const;
    [[nodiscard]] const std::vector<note>& notes() const noexcept { return notes_; }

private:
    [[nodiscard]] party* find(const owner_token& owner, stand at);
    [[nodiscard]] bool fits(const lease_mode& mode) const;
    [[nodiscard]] const party* resized() const;
    /// Of how many permits these are: as resized, or else as the one says who asks.
    [[nodiscard]] std::uint32_t limit_for(const lease_mode& mode) const;
    [[nodiscard]] bool too_many(const lease_mode& mode) const;
    void keep_size();
    [[nodiscard]] bool anyone(stand at) const;
    [[nodiscard]] std::uint32_t ahead_of(const party* waiter) const;
    void drop_dead();
    void join_queue(const ask::acquire& asked, const listener_id& self);
    /// Gives the name along the queue; `me` gets what it asked for instead of a claim.
    void handoff(const ask::acquire* me = nullptr);
    bool offer(party& waiter);
    void tell_to_poll(const party& waiter);
    void hold(party& who, std::int64_t until, std::int64_t spare);
    void take(const ask::acquire& asked, const listener_id& self);
    result<lease_reply> repeat(party& holder, const ask::acquire& asked);
    [[nodiscard]] std::optional<error> unfit(const ask::acquire& asked) const;
    [[nodiscard]] answer::busy busy(const ask::acquire& asked, const listener_id& self);

    std::int64_t now_;
    std::int64_t top_;
    std::vector<party> parties_;
    hearing_check hears_;
    wake_reach reach_;
    std::vector<note> notes_;
    bool left_to_queue_ = false;  // one that barges was told: the name is the quickest one's
};

/// When a waiter looks again that nobody will wake: often while it has waited for a short time,
/// less often the longer it has, and the further back it stands. Microseconds.
[[nodiscard]] std::int64_t pause_before_poll(std::int64_t waited, std::uint32_t ahead);

}  // namespace holdfast::sql
