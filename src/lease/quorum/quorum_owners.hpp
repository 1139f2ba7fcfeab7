// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <holdfast/engine/lease_store.hpp>
#include <holdfast/entropy.hpp>

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <vector>

/// What a quorum remembers of each owner, from its first request until it is given back: when to
/// look again, which of its grants are being undone, and that it is over, for the requests of it
/// which some node carries out only then.
///
/// A waiter stands in the queue of every node, but each queue is its own: the nodes may name
/// different waiters, and if each handed off what it has, nobody would have a majority. So no node
/// hands off; it tells the first in its line that the name is free there. A waiter that a majority
/// tells this goes at once. One that fewer tell comes a little later, by chance; the more often it
/// came in vain, the later, so that a node which is free alone (it has forgotten the holder's
/// lease, say) does not make all of them run. Whoever was told nothing looks within a second.
namespace holdfast::detail {

/// Thread safety: all members may be called from any thread.
class quorum_owners {
public:
    quorum_owners(std::size_t nodes, entropy& chance) : nodes_(nodes), chance_(chance) {}

    /// By node: it has answered to the owner's end. What it grants after that is late.
    using end_marks = std::shared_ptr<std::vector<std::atomic<bool>>>;
    struct known {
        std::vector<fencing_token> undone{};  ///< By node; empty if nothing is.
        end_marks ended{};                    ///< Null if nobody will say.
        std::uint64_t look = 0;               ///< Of an acquire: its number.
        std::vector<bool> never_knew{};       ///< By node: the owner was never sent there.
    };

    /// Whose request: an owner may ask for several names.
    struct asker {
        owner_token owner;
        lock_name name;
        friend auto operator<=>(const asker&, const asker&) = default;
    };

    /// An acquire of this owner is about to be sent: what it was told before is old.
    [[nodiscard]] known look(const asker& who, bool waits, time_point now);

    /// A renewal of this owner is about to be sent.
    [[nodiscard]] known renew(const asker& who, time_point now);

    /// The request found it busy. Answers when to look again; `split` if some nodes were free, and
    /// `nodes_say` is when enough of them may be.
    [[nodiscard]] duration poll_after(const asker& who, duration nodes_say, bool split);

    /// A request is about to undo these. False, and it must not, if the owner has asked again since
    /// that look: what a node grants to a late request is the same grant that it gives to the later
    /// one, which may count on it, and sees to its end.
    [[nodiscard]] bool undoing(const asker& who, std::span<const fencing_token> undone,
                               std::uint64_t look, time_point now);

    /// That node has undone what it granted up to this fence.
    void undone(const asker& who, std::size_t node, fencing_token up_to);

    /// That node has granted it with this fence. If it is above what is being undone there, the
    /// undoing is over, or will not end this grant. If not, it is what is being undone, told late.
    void voted(const asker& who, std::size_t node, fencing_token fence);

    /// It has it. What is being undone is remembered for its renewals.
    void granted(const asker& who);

    /// It does not have it. Who does not wait is forgotten, unless something is being undone.
    void refused(const asker& who);

    /// The last look did not reach that node.
    void never_sent(const asker& who, std::size_t node);

    /// It is about to be given back. Answers where to mark which nodes have heard of it, and which
    /// have never heard of it at all.
    [[nodiscard]] known forget(const asker& who);

    struct hint {
        duration after;      ///< When it should ask; zero for now.
        std::uint64_t look;  ///< For still_waits().
    };

    /// A node told this owner that the name is free. Nothing, if it knows already or does not wait.
    [[nodiscard]] std::optional<hint> hear(std::size_t node, const owner_token& owner);

    /// Has it neither looked since that hint nor been told to?
    [[nodiscard]] bool still_waits(const owner_token& owner, std::uint64_t look);

private:
    struct entry {
        std::vector<bool> told{};
        std::size_t tellers = 0;
        unsigned in_vain = 0;
        std::uint64_t looks = 0;
        bool waits = false;
        bool holds = false;
        std::vector<fencing_token> undone{};
        std::vector<std::uint64_t> unsent{};  ///< By node: looks that did not reach it.
        end_marks ended{};
        time_point seen{};
    };

    /// Finds all of an owner's, too.
    struct by_owner {
        using is_transparent = void;
        bool operator()(const asker& a, const asker& b) const { return a < b; }
        bool operator()(const asker& a, const owner_token& b) const { return a.owner < b; }
        bool operator()(const owner_token& a, const asker& b) const { return a < b.owner; }
    };

    [[nodiscard]] entry& entry_of(const asker& who, time_point now);
    [[nodiscard]] duration pause(const entry& here);
    [[nodiscard]] entry* waiting(const owner_token& owner);

    const std::size_t nodes_;
    entropy& chance_;
    std::mutex mutex_;
    std::map<asker, entry, by_owner> owners_;
    time_point swept_{};
};

}  // namespace holdfast::detail
