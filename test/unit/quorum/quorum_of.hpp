// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "lease/quorum/quorum_machine.hpp"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

/// What the tests of a quorum's machine have in common.
namespace holdfast::detail {

using namespace std::chrono_literals;

inline const time_point vote_start{1000s};

class quorum_of : public testing::Test {
protected:
    using step = quorum_machine::step;

    ask::acquire acquire(ask::when_busy otherwise = ask::when_busy::refuse) const {
        return {.name = name,
                .owner = owner,
                .mode = {},
                .ttl = ttl,
                .otherwise = otherwise,
                .ticket = {}};
    }
    quorum_machine five(lease_request request) { return of(5, std::move(request)); }
    quorum_machine of(std::size_t nodes, lease_request request) {
        return quorum_machine({.request = std::move(request), .nodes = nodes});
    }
    static result<lease_reply> granted(std::uint64_t fence) {
        return answer::granted{{fence}, ttl};
    }
    static result<lease_reply> busy(duration look = 1s) {
        return answer::busy{.poll_after = look, .ticket = {}, .latest = {}};
    }
    static result<lease_reply> silent() { return fail(errc::outcome_unknown, "no answer"); }
    static result<lease_reply> away() { return fail(errc::unavailable, "not connected"); }
    static result<lease_reply> lost(std::string why = {}) { return answer::lost{std::move(why)}; }
    static result<lease_reply> renewed() { return answer::renewed{ttl}; }
    /// Without its floor.
    static result<lease_reply> renewed_only() { return answer::renewed{ttl, false}; }
    static result<lease_reply> released(bool found = true) { return answer::released{found}; }

    static bool is_granted(const step& s, std::uint64_t fence) {
        const auto* given =
            s.outcome && *s.outcome ? std::get_if<answer::granted>(&**s.outcome) : nullptr;
        return given != nullptr && given->fence.value == fence;
    }
    template <class Answer>
    static bool says(const step& s) {
        return s.outcome && *s.outcome && std::holds_alternative<Answer>(**s.outcome);
    }
    /// Nodes at which a grant is undone, with the fence up to which it is.
    static std::vector<std::pair<std::size_t, std::uint64_t>> undone(const step& s) {
        std::vector<std::pair<std::size_t, std::uint64_t>> all;
        for (const auto& out : s.sends) {
            const auto* end = std::get_if<ask::release>(&out.request);
            if (end != nullptr) all.emplace_back(out.node, end->only.value);
        }
        return all;
    }
    /// Nodes that are told to give no fence up to a floor, with the floor.
    static std::vector<std::pair<std::size_t, std::uint64_t>> raised(const step& s) {
        std::vector<std::pair<std::size_t, std::uint64_t>> all;
        for (const auto& out : s.sends) {
            const auto* kept = std::get_if<ask::renew>(&out.request);
            if (kept != nullptr) all.emplace_back(out.node, kept->floor.value);
        }
        return all;
    }

    static constexpr duration ttl = 10s;
    seeded_entropy chance{7};
    const lock_name name = *lock_name::make("job");
    const owner_token owner = owner_token::draw(chance);
    const time_point soon = vote_start + 1ms;
};

}  // namespace holdfast::detail
