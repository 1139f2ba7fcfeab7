// SPDX-License-Identifier: Apache-2.0
#include "mutants.hpp"

#include <algorithm>
#include <array>

namespace holdfast::sim {
namespace {

constexpr std::array mutants{
    mutant{"late_grant_is_believed", "a grant counts although its ttl was over when it came"},
    mutant{"believed_from_the_reply", "a grant is believed from its reply on"},
    mutant{"no_allowance_for_drift", "clocks are taken to run at the same speed"},
    mutant{"renewal_believed_from_the_reply", "a renewal is believed from its reply on"},
    mutant{"late_renewal_is_believed", "a renewal that came after the deadline counts"},
    mutant{"renews_after_the_deadline", "the keeper goes on after the deadline"},
    mutant{"renews_after_the_release", "the keeper is not told of a release"},
    mutant{"any_renewal_succeeds", "a renewal that was refused counts as one that succeeded"},
    mutant{"stale_message_is_believed", "a handoff older than the last look counts"},
    mutant{"message_believed_from_its_arrival", "a handoff is believed from its message on"},
    mutant{"waits_for_messages_only", "a waiter does not look by itself"},
    mutant{"another_owner_on_a_retry", "a request is repeated with another owner"},
    mutant{"gives_up_without_leaving", "a waiter that gives up says nothing"},
    mutant{"leaves_once_only", "a leave that was not answered is not repeated"},
    mutant{"background_leaves_once", "the background does not repeat a leave either"},
    mutant{"late_writes_stay", "what a late request took is left to its ttl"},
    mutant{"closed_without_leaving", "what is granted to a client that closes is not given back"},
    mutant{"lost_is_not_given_back", "the release of a lost lease tells the engine nothing"},
    mutant{"forgets_those_behind_it", "the next of the same client is not told of its turn"},
    mutant{"passes_on_the_same_fence", "a lease that is passed on keeps its fence"},
    mutant{"spare_fences_not_reserved", "fences for passing on are not reserved"},
    mutant{"a_child_holds", "a child of fork() believes in its parent's leases"},
    mutant{"sets_without_nx", "a lock is taken without looking whether it is free"},
    mutant{"forgets_that_it_took", "a first trip without an answer is taken for nothing"},
    mutant{"waits_on_another_connection", "WAIT is asked on a connection that wrote nothing"},
    mutant{"unconfirmed_grants_count", "a grant counts although too few replicas have it"},
    mutant{"any_server_is_old", "a client vouches for a server that was promoted just now"},
    mutant{"clock_steps_go_unnoticed", "nobody compares the server's clock with its own"},
    mutant{"minority_is_enough", "two of five are taken for a majority"},
    mutant{"votes_that_are_undone_count", "a vote that is being undone counts"},
    mutant{"undoes_later_grants", "the undoing of a vote ends a later grant, too"},
    mutant{"late_requests_undo", "a late request undoes what a later one counts on"},
    mutant{"undoing_never_ends", "where a vote was undone once, renewals never count"},
    mutant{"lost_votes_stay", "votes that were not enough are not undone"},
    mutant{"fence_is_not_written_back", "a quorum's fence is told before a majority knows it"},
    mutant{"no_stand_aside", "a restarted server of a quorum votes at once", "if left > 0 then",
           "if false then"},
    mutant{"floors_ahead_are_taken", "a server of a quorum takes a fence far ahead of its clock",
           "if furthest > 0 and", "if false and"},
    mutant{"release_without_compare", "the script deletes whoever's lock is there",
           "local alone = string.sub(held, 1, #owner + 4) == owner .. ':hf:'",
           "local alone = true"},
    mutant{"release_free_without_compare", "so does the one of the fast path",
           "if not held or string.sub(held, 1, #ARGV[1]) ~= ARGV[1] then return 0 end",
           "if not held then return 0 end"},
    mutant{"renew_without_compare", "the script renews whoever's lock is there",
           "if not held or string.sub(held, 1, #owner) ~= owner then", "if not held then"},
    mutant{"leave_ends_anybody", "who leaves ends whoever holds the name",
           "if state.owner == who then", "if state.owner then"},
    mutant{"fences_by_tostring", "fences are written as Lua shows numbers",
           "local function digits(number) return string.format('%.0f', number) end",
           "local function digits(number) return tostring(number) end"},
    mutant{"fences_without_a_floor", "a counter that lost numbers gives them again",
           "if top < now then", "if false then"},
    mutant{"line_without_order", "the line is served from its end",
           "redis.call('ZRANGE', line, '0', '1')", "redis.call('ZREVRANGE', line, '0', '1')"},
    mutant{"no_quarantine", "a server that forgot grants at once",
           "return math.max(since + window - now, 0), run", "return 0"},
    mutant{"a_promotion_is_forgotten", "the uptime of a promoted server ends its quarantine",
           "if promoted then age = 0 end", ""},
    mutant{"claims_never_end", "a lock that was handed to somebody dead stays his",
           "admit(state, who, kind, permits, most, tonumber(claim), fence)",
           "admit(state, who, kind, permits, most, 3600000, fence)"},
    mutant{"no_slack", "SET NX overtakes those in line", "local slack = 3000", "local slack = 0"},
    mutant{"line_is_not_marked", "the holder is not told that somebody waits",
           "redis.call('SET', lock, stored .. '+', 'PX', remains + 3000)",
           "redis.call('SET', lock, stored, 'PX', remains)"},
    mutant{"granted_keeps_its_place", "who was granted stays in line",
           "forget(owner)\nlocal given = grant(state)", "local given = grant(state)"},
    mutant{"readers_beside_a_writer", "readers come in beside a writer",
           "if state.kind ~= kind or kind == 'x' then return false end",
           "if state.kind == 'x' and kind == 'x' then return false end"},
    mutant{"one_permit_too_many", "a semaphore gives one more than it has",
           "state.used + permits > most then return false",
           "state.used + permits > most + 1 then return false"},
    mutant{"writers_are_overtaken", "readers pass a writer that waits",
           "elseif not fits(state, kind, permits, most) then\nreturn false",
           "elseif not fits(state, kind, permits, most) then\nrank = rank + 1"},
};

}  // namespace

std::span<const mutant> all_mutants() noexcept {
    return mutants;
}

const mutant* find_mutant(std::string_view name) noexcept {
    const auto* const found = std::ranges::find(mutants, name, &mutant::name);
    return found == mutants.end() ? nullptr : found;
}

}  // namespace holdfast::sim
