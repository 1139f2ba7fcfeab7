// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "checker.hpp"

#include <map>
#include <set>
#include <string>
#include <tuple>

/// A grant of a quorum rests on the votes of a majority, and takes none of them back; and so does a
/// renewal, which is told as soon as a majority has renewed.
///
/// Votes that were not enough are undone, each by its fence, and do not count from then on. The
/// answer of a server may also come when its owner has asked again and was granted, with the same
/// vote: until the owner is given back, no server is told to undo what it gave it. Most of the time
/// this costs nobody a lease, which survives the loss of two votes of five; so what is sent is
/// judged, and not only what comes of it.
namespace holdfast::sim {

class vote_checker final : public checker {
public:
    explicit vote_checker(std::size_t nodes) : checker("votes"), majority_(nodes / 2 + 1) {}

    using checker::see;
    void see(const seen::request_sent& e) override;
    void see(const seen::request_answered& e) override;
    void see(const seen::node_asked& e) override;
    void see(const seen::node_answered& e) override;

private:
    using asker = std::pair<owner_token, lock_name>;  ///< An owner, and the name it asks for.
    struct vote {
        std::uint64_t given = 0;    ///< The largest fence of a grant that was heard of.
        std::uint64_t undone = 0;   ///< Up to this fence nothing counts, whenever it is heard of.
        std::uint64_t undoing = 0;  ///< The same, of what the server has not answered to yet.

        [[nodiscard]] bool may_count() const { return given > undoing; }
        [[nodiscard]] bool counts() const { return given > undone; }
    };
    struct place {
        bool granted = false;
        std::map<unsigned, vote> votes;  ///< By server.
        // Of the renewal that is under way:
        std::uint64_t renewal = 0;  ///< Its number; 0: there is none.
        moment renewal_sent{};
        std::size_t renewed = 0;        ///< Servers that have said so.
        std::set<unsigned> renewal_at;  ///< Servers that were asked; a second ask is not of it.
    };
    struct renewal {
        asker who;
        std::uint64_t number;
    };
    void renewal_answered(const seen::node_answered& e, const ask::renew& kept);

    const std::size_t majority_;
    std::map<asker, place> places_;
    std::uint64_t renewals_ = 0;
    std::map<const lease_request*, renewal> asked_;  ///< Of servers whose answer will count.
};

}  // namespace holdfast::sim
