// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/lease_state.hpp"

#include <memory>
#include <string_view>
#include <vector>

/// What the keeper knows and decides, without threads, I/O or a clock.
///
/// The book holds every kept lease, ordered by the next moment at which something must be done
/// about it: renew it, or, at its deadline, declare it lost. The order is a binary heap in which
/// each lease knows its index, so that keeping and forgetting cost O(log n), and O(1) for the usual
/// lease that comes last and goes first.
///
/// Rule: a lease is lost when its deadline passes, whatever is still on its way. A renewal that
/// succeeds later changes nothing.
namespace holdfast::detail {

class keeper_book {
public:
    using entry = std::shared_ptr<lease_state>;

    struct work {
        std::vector<entry> renewals;
        std::vector<entry> losses;
        [[nodiscard]] bool empty() const noexcept { return renewals.empty() && losses.empty(); }
    };

    /// Takes a lease into the book. Requires: its deadline, renew_at and hold_end are set.
    void keep(entry lease);

    /// Lets go of it; it is nothing if it is not in the book.
    void forget(lease_state& lease);

    /// The next moment at which due() has something to say; time_point::max() if never.
    [[nodiscard]] time_point next() const noexcept;

    /// What must be done now. Renewals count as sent at `now`; lost leases have left the book and
    /// their status says lost. At most `most` renewals at once; next() is then in the past.
    [[nodiscard]] work due(time_point now, std::size_t most);

    /// The engine renewed it. Answers the slack: how long before its deadline the answer came; zero
    /// if it was only asked whether the lease is still there.
    duration renewed(lease_state& lease, duration ttl, time_point now);

    /// The engine renewed it because its holder asked, at `sent`. False if that came too late.
    bool extended(lease_state& lease, time_point sent, duration ttl, time_point now);

    /// What to ask the engine for when it is renewed: never for more than max_hold allows. One that
    /// is not renewed is asked for so little that it does not run longer for it.
    [[nodiscard]] static duration ttl_to_ask(const lease_state& lease, time_point now);

    /// No answer, or an engine in trouble: tried again until the deadline. True if it is the first
    /// failure and there is time to try again: the lease is in jeopardy now.
    bool not_renewed(lease_state& lease, time_point now);

    /// The engine says that it is not ours; with the words of whoever took it away, if someone did.
    /// True if that was news.
    bool refused(lease_state& lease, std::string_view why = {});

    /// The engine may have ended any lease but this one, whose renewal was just answered. All that
    /// no renewal is on its way for are due now, and in jeopardy; answers those for which that is
    /// news.
    [[nodiscard]] std::vector<entry> doubt_all_but(const lease_state& known, time_point now);

    /// The same, but they are lost, and have left the book.
    [[nodiscard]] std::vector<entry> lose_all_but(const lease_state& known);

    /// A downgrade is on its way, which may overtake a renewal: until end_turn() the lease is not
    /// renewed, and a refusal without words is not believed: it may speak of the mode that the
    /// lease had before. The deadline holds. Both do nothing if it is not in the book.
    void begin_turn(lease_state& lease);
    void end_turn(lease_state& lease);

    /// The lease of that owner; null if it is not in the book. Looks at all of them.
    [[nodiscard]] entry find(const owner_token& owner) const;

    /// Everything, and the book is empty. For closing.
    [[nodiscard]] std::vector<entry> drain();

    [[nodiscard]] std::size_t size() const noexcept { return heap_.size(); }

private:
    static void extend(lease_state& lease, time_point from, duration ttl);
    void schedule(lease_state& lease);
    void sift_up(std::size_t at);
    void sift_down(std::size_t at);
    void put(std::size_t at, entry lease);
    entry take(std::size_t at);

    std::vector<entry> heap_;
};

}  // namespace holdfast::detail
