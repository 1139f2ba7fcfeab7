// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <holdfast/engine/lease_store.hpp>

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

/// One lease request to a quorum, as a machine without I/O: the nodes' answers in, the outcome out.
///
/// A quorum is a number of stores, its nodes, that know nothing of each other. What a majority of
/// them says holds, since two majorities always have a node in common. The outcome is told as soon
/// as no later answer can change it; answers that come after that only tidy up.
///
/// **Exclusion.** An acquire is granted when a majority has granted it, within the time that the
/// lease may be believed (core/validity.hpp, from before the first request was sent). If that has
/// become impossible, what was granted is undone at once. A grant is undone by its node's fence:
/// the undoing may be late, and meet a later grant of the same owner, which it must not end. For
/// the same reason a vote with a fence that is being undone is no vote, and neither is a renewal
/// there (`quorum_plan::undone`).
///
/// **Fence.** A node's fence says nothing about the others'. The fence of the quorum is the largest
/// F that a node of the granting majority drew, and is told only when a majority of nodes, on each
/// of which we hold the name, gives no fence up to F any more: a node that drew F itself needs no
/// word, the others are told (ask::renew::floor). The next holder has one of these in its own
/// majority, and was granted there after our end: so it draws a larger one. Nodes of which one
/// client is told the same F go on in step, and mostly draw the same fence: then nothing has to be
/// written back, and an acquire is one trip.
///
/// **Clocks.** A node that loses its counter starts again from its clock, when its quarantine is
/// over. So a node takes no F that is ahead of its clock by more than the quarantine: after a loss
/// it would give smaller ones. Where a majority refuses F for that reason, the node that drew it is
/// ahead of them all: its vote does not count, and those that refused choose among themselves.
///
/// **Ties.** A majority of four is three: two and two is nobody's, and is undone by both.
namespace holdfast::detail {

struct quorum_plan {
    lease_request request;
    std::size_t nodes = 0;
    bool fencing = true;
    /// By node: the largest fence of this owner that is being undone there. Empty: none.
    std::vector<fencing_token> undone = {};
    /// By node: the owner is being ended there, so it is not asked. Empty: none.
    std::vector<bool> leaving = {};
    /// By node, of a leave: the owner was never sent there, so there is nothing to end. Empty: it
    /// may have been.
    std::vector<bool> never_knew = {};
};

[[nodiscard]] constexpr std::size_t majority_of(std::size_t nodes) noexcept {
    return nodes / 2 + 1;
}

/// What one node said so far.
struct node_word {
    enum class kind : std::uint8_t {
        skipped,  ///< Not asked.
        asked,
        yes,     ///< Granted, renewed, released.
        no,      ///< Busy, or lost.
        failed,  ///< No answer, or an engine in trouble.
    };
    kind said = kind::skipped;
    fencing_token fence = {};
    bool raised = false;    ///< Gives no fence up to the quorum's any more.
    bool raising = false;   ///< Was told to, and has not answered.
    bool unraised = false;  ///< Could not: it has granted the name, but is no vote …
    bool too_far = false;   ///< … because the quorum's fence is too far ahead of its clock.
    bool found = false;     ///< There was something to release or to leave.
    std::string reason{};   ///< Of a `lost`.
    answer::busy seen{};    ///< Of a `no` to an acquire.
    std::optional<error> why{};
};

class quorum_machine {
public:
    struct send {
        std::size_t node;
        lease_request request;
        /// Its answer goes to on_answer(). Otherwise nobody waits for it.
        bool awaited = true;
        /// Of one that nobody waits for: if it fails, the owner, which will not be asked for any
        /// more, must be ended there in the background.
        bool insists = false;
    };
    struct step {
        std::vector<send> sends{};
        /// Nodes where the owner must be ended in the background, however long that takes.
        std::vector<std::size_t> leave_at{};
        /// The outcome; told once.
        std::optional<result<lease_reply>> outcome{};
    };

    explicit quorum_machine(quorum_plan plan);

    // Events. `start` comes first; `on_answer` once for each awaited send, in any order.
    [[nodiscard]] step start(time_point now);
    [[nodiscard]] step on_answer(std::size_t node, result<lease_reply> reply, time_point now);

    /// The owner was given back, and the node that answers next has heard of it before: what it
    /// grants is late, and is undone.
    void end() noexcept { ended_ = true; }

    [[nodiscard]] const lease_request& request() const noexcept { return plan_.request; }
    [[nodiscard]] const std::vector<node_word>& words() const noexcept { return words_; }
    /// The outcome was busy although some nodes were free: others may be asking at the same time.
    [[nodiscard]] bool split() const noexcept { return split_; }
    /// By node: the largest fence that this request had to undo; 0 for none.
    [[nodiscard]] const std::vector<fencing_token>& undone() const noexcept { return plan_.undone; }

private:
    using kind = node_word::kind;

    void take(std::size_t node, result<lease_reply> reply, time_point now, step& out);
    void take_vote(std::size_t node, const answer::granted& given, step& out);
    void take_renewal(std::size_t node, const answer::renewed& kept, bool raising);
    void decide(step& out);
    void decide_acquire(const ask::acquire& asked, step& out);
    [[nodiscard]] bool vote_again();
    void choose_fence();
    void raise_others(const ask::acquire& asked, step& out);
    void refuse_acquire(const ask::acquire& asked, step& out);
    void end_refused(std::size_t node, step& out);
    [[nodiscard]] answer::lost why_lost() const;
    void decide_renew(const ask::renew& asked, step& out);
    void decide_release(step& out);
    void decide_leave(step& out);
    void tidy(std::size_t node, step& out);
    void end_whole(std::size_t node, step& out);
    void end_straggler(std::size_t node, step& out);
    void undo(std::size_t node, step& out);
    void restore(std::size_t node, step& out);
    void tell(result<lease_reply> outcome, step& out);
    [[nodiscard]] std::size_t count(kind said) const;
    [[nodiscard]] static bool doubtful(const node_word& word);
    [[nodiscard]] static bool has_granted(const node_word& word);
    [[nodiscard]] bool in_doubt() const;
    [[nodiscard]] bool is_known_somewhere() const;
    [[nodiscard]] error no_majority() const;
    [[nodiscard]] answer::busy busy() const;

    quorum_plan plan_;
    std::size_t majority_;
    std::vector<node_word> words_;
    time_point sent_;
    fencing_token fence_;  // the quorum's, once a majority has granted
    bool told_ = false;
    bool ended_ = false;
    bool won_ = false;
    bool unknown_ = false;
    bool gives_up_ = false;  // it was refused, and will not ask again
    bool split_ = false;
};

}  // namespace holdfast::detail
