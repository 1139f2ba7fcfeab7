// SPDX-License-Identifier: Apache-2.0
#include "mutants.hpp"

#include <algorithm>
#include <array>

namespace holdfast::sim {
namespace {

constexpr std::string_view in_scripts;

constexpr std::array mutants{
    mutant{"late_grant_is_believed", "a grant counts although its ttl was over when it came",
           "src/core/acquire_machine.cpp", "now >= end", "false"},
    mutant{"believed_from_the_reply", "a grant is believed from its reply on",
           "src/core/acquire_machine.cpp", "valid_until(sent_, given.ttl, plan_.drift)",
           "valid_until(now, given.ttl, plan_.drift)"},
    mutant{"no_allowance_for_drift", "clocks are taken to run at the same speed",
           "src/core/validity.hpp", "drift.value_or(ttl / 100) + std::chrono::milliseconds(2)",
           "duration::zero()"},
    mutant{"renewal_believed_from_the_reply", "a renewal is believed from its reply on",
           "src/core/keeper_book.cpp", "extend(lease, lease.renewal_sent, ttl);",
           "extend(lease, now, ttl);"},
    mutant{"late_renewal_is_believed", "a renewal that came after the deadline counts",
           "src/core/keeper_book.cpp", "slack <= duration::zero()", "false"},
    mutant{"renews_after_the_deadline", "the keeper goes on after the deadline",
           "src/core/keeper_book.cpp", R"(lease_state& lease = *heap_.front();
        if ([[now >= lease.deadline.load()]]))",
           "now >= lease.deadline.load() && (lease.deadline = later(now, lease.ttl), false)"},
    mutant{"renews_after_the_release", "the keeper is not told of a release",
           "src/lock/lock_runtime.cpp", R"([[keeper_->forget(state);]]
    if (!mine) {)",
           ""},
    mutant{"any_renewal_succeeds", "a renewal that was refused counts as one that succeeded",
           "src/lease/commands/lease_commands.cpp", "what.number() == code::lost", "false"},
    mutant{"stale_message_is_believed", "a handoff older than the last look counts",
           "src/core/acquire_machine.cpp", "latest_.value != 0 && given.fence <= latest_", "false"},
    mutant{"message_believed_from_its_arrival", "a handoff is believed from its message on",
           "src/core/acquire_machine.cpp", "valid_until(not_before_, given.ttl, plan_.drift)",
           "valid_until(now, given.ttl, plan_.drift)"},
    mutant{"waits_for_messages_only", "a waiter does not look by itself",
           "src/core/acquire_machine.cpp", "wait(later(now, look))", "wait(plan_.wait_until)"},
    mutant{"another_owner_on_a_retry", "a request is repeated with another owner",
           "src/core/acquire_machine.cpp", R"(trouble_->code = errc::outcome_unknown;
    }
    if ([[!waits_in_queue()]]))",
           R"(plan_.owner = *owner_token::parse(
                std::string(plan_.owner.value(), 0, plan_.owner.value().size() - 1) +
                (plan_.owner.value().back() == '0' ? '1' : '0')),
            !waits_in_queue())"},
    mutant{"gives_up_without_leaving", "a waiter that gives up says nothing",
           "src/core/acquire_machine.cpp", "if ([[!maybe_there_]])", "true"},
    mutant{"leaves_once_only", "a leave that was not answered is not repeated",
           "src/core/acquire_machine.cpp", "finish{std::unexpected(std::move(why)), true, late}",
           "finish{std::unexpected(std::move(why)), false, late}"},
    mutant{"background_leaves_once", "the background does not repeat a leave either",
           "src/core/leave_queue.cpp", "again_.push_back(std::move(one));", ""},
    mutant{"late_writes_stay", "what a late request took is left to its ttl",
           "src/core/leave_queue.cpp", "one->finds == 0 || hurries_", "true"},
    mutant{"closed_without_leaving", "what is granted to a client that closes is not given back",
           "src/lock/background_release.cpp",
           "keeper_->leave_in_background(request, until, doubts)",
           "closed_ || keeper_->leave_in_background(request, until, doubts)"},
    mutant{"lost_is_not_given_back", "the release of a lost lease tells the engine nothing",
           "src/lock/background_release.cpp", "!perhaps_there || clock_.now() >= over.gone_by()",
           "true"},
    mutant{"forgets_those_behind_it", "the next of the same client is not told of its turn",
           "src/lock/acquisition.cpp", R"(options_)) {
        [[runtime_.lines(mode_).next(name_);]])",
           "if (got) runtime_.lines(mode_).next(name_);"},
    mutant{"passes_on_the_same_fence", "a lease that is passed on keeps its fence",
           "src/lock/lock_runtime.cpp", "fencing_token{old.fence.value + 1}",
           "fencing_token{old.fence.value}"},
    mutant{"spare_fences_not_reserved", "fences for passing on are not reserved",
           "src/lease/commands/lease_commands.cpp", "std::uint64_t{1} + asked.spare_fences",
           "std::uint64_t{1}"},
    mutant{"a_child_holds", "a child of fork() believes in its parent's leases",
           "src/lock/lock_runtime.cpp",
           R"(const bool forked = [[fork_generation() != state.fork_generation]];
    if (!state.ours() || forked))",
           "false"},
    mutant{"sets_without_nx", "a lock is taken without looking whether it is free",
           "src/lease/commands/lease_commands.cpp", R"(word("NX");)", ""},
    mutant{"forgets_that_it_took", "a first trip without an answer is taken for nothing",
           "src/lease/commands/lease_commands.cpp", R"(std::unexpected(std::move(why));
    took_ = [[true]];)",
           "false"},
    mutant{"waits_on_another_connection", "WAIT is asked on a connection that wrote nothing",
           "sim/remote_store.cpp", ".written = [[one->written]]", "moment(0)"},
    mutant{"unconfirmed_grants_count", "a grant counts although too few replicas have it",
           "sim/remote_store.cpp", "heard >= options_.replicas", "true"},
    mutant{"any_server_is_old", "a client vouches for a server that was promoted just now",
           "src/lease/commands/known_servers.cpp", R"(found != seen_.end() &&
           now > later(later(found->second.since, window), drift_allowance(window)))",
           "true"},
    mutant{"clock_steps_go_unnoticed", "nobody compares the server's clock with its own",
           "src/lease/commands/server_clocks.cpp", "by == duration::zero()", "true"},
    mutant{"minority_is_enough", "two of five are taken for a majority",
           "src/lease/quorum/quorum_machine.cpp", "majority_of(plan_.nodes)",
           "majority_of(plan_.nodes) - 1"},
    mutant{"votes_that_are_undone_count", "a vote that is being undone counts",
           "src/lease/quorum/quorum_machine.cpp", "given.fence > plan_.undone[node]", "true"},
    mutant{"undoes_later_grants", "the undoing of a vote ends a later grant, too",
           "src/lease/quorum/quorum_machine.cpp",
           "ask::release{asked.name, asked.owner, asked.mode, undone}",
           "ask::release{asked.name, asked.owner, asked.mode, fencing_token{}}"},
    mutant{"late_requests_undo", "a late request undoes what a later one counts on",
           "src/lease/quorum/quorum_owners.cpp", "found->second.looks != look", "false"},
    mutant{"undoing_never_ends", "where a vote was undone once, renewals never count",
           "src/lease/quorum/quorum_owners.cpp", "undone <= up_to", "false"},
    mutant{"lost_votes_stay", "votes that were not enough are not undone",
           "src/lease/quorum/quorum_machine.cpp", "has_granted(word)", "false"},
    mutant{"fence_is_not_written_back", "a quorum's fence is told before a majority knows it",
           "src/lease/quorum/quorum_machine.cpp", "!plan_.fencing || raised >= majority_", "true"},
    mutant{"no_stand_aside", "a restarted server of a quorum votes at once", in_scripts,
           "if left > 0 then", "if false then"},
    mutant{"floors_ahead_are_taken", "a server of a quorum takes a fence far ahead of its clock",
           in_scripts, "if furthest > 0 and", "if false and"},
    mutant{"release_without_compare", "the script deletes whoever's lock is there", in_scripts,
           "local alone = string.sub(held, 1, #owner + 4) == owner .. ':hf:'",
           "local alone = true"},
    mutant{"release_free_without_compare", "so does the one of the fast path", in_scripts,
           "if not held or string.sub(held, 1, #ARGV[1]) ~= ARGV[1] then return 0 end",
           "if not held then return 0 end"},
    mutant{"renew_without_compare", "the script renews whoever's lock is there", in_scripts,
           "if not held or string.sub(held, 1, #owner) ~= owner then", "if not held then"},
    mutant{"leave_ends_anybody", "who leaves ends whoever holds the name", in_scripts,
           "if state.owner == who then", "if state.owner then"},
    mutant{"fences_by_tostring", "fences are written as Lua shows numbers", in_scripts,
           "local function digits(number) return string.format('%.0f', number) end",
           "local function digits(number) return tostring(number) end"},
    mutant{"fences_without_a_floor", "a counter that lost numbers gives them again", in_scripts,
           "if top < now then", "if false then"},
    mutant{"line_without_order", "the line is served from its end", in_scripts,
           "redis.call('ZRANGE', line, '0', '1')", "redis.call('ZREVRANGE', line, '0', '1')"},
    mutant{"no_quarantine", "a server that forgot grants at once", in_scripts,
           "return math.max(since + window - now, 0), run", "return 0"},
    mutant{"a_promotion_is_forgotten", "the uptime of a promoted server ends its quarantine",
           in_scripts, "if promoted then age = 0 end", ""},
    mutant{"claims_never_end", "a lock that was handed to somebody dead stays his", in_scripts,
           "admit(state, who, kind, permits, most, tonumber(claim), fence)",
           "admit(state, who, kind, permits, most, 3600000, fence)"},
    mutant{"no_slack", "SET NX overtakes those in line", in_scripts, "local slack = 3000",
           "local slack = 0"},
    mutant{"line_is_not_marked", "the holder is not told that somebody waits", in_scripts,
           "redis.call('SET', lock, stored .. '+', 'PX', remains + 3000)",
           "redis.call('SET', lock, stored, 'PX', remains)"},
    mutant{"granted_keeps_its_place", "who was granted stays in line", in_scripts,
           "forget(owner)\nlocal given = grant(state)", "local given = grant(state)"},
    mutant{"readers_beside_a_writer", "readers come in beside a writer", in_scripts,
           "if state.kind ~= kind or kind == 'x' then return false end",
           "if state.kind == 'x' and kind == 'x' then return false end"},
    mutant{"one_permit_too_many", "a semaphore gives one more than it has", in_scripts,
           "state.used + permits > most then return false",
           "state.used + permits > most + 1 then return false"},
    mutant{"writers_are_overtaken", "readers pass a writer that waits", in_scripts,
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
