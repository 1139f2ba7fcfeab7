-- SPDX-License-Identifier: Apache-2.0
-- Grants a name to an owner, if what it wants is free; otherwise says busy and, if asked to, keeps
-- a place in the queue. Most grants do not come here: see the fast path in lease_commands.hpp.
--
-- KEYS  1 lock  2 line  3 waiters  4 fence counter  5 holders  6 limit  7 evicted  8 boot (only if
--       every grant must be careful)
-- ARGV  1 owner  2 ttl_ms  3 spare fences  4 channel ('' refuses instead of queueing)
--       5 ticket ('0' for a newcomer)  6 claim_ms (0 barges: takes what is free before those in
--       line)  7 place_ms  8 most waiters  9 kind: x, s or p  10 permits  11 of how many
--       12 fence of an exclusive lease that the owner has and wants to share ('0': a new one)
--       13 quarantine_ms, as boot.lua has it
-- Answers {1, fence} granted | {0, remaining_ms, ahead, ticket, latest fence} busy |
--         {2, waiters} the queue is full | {3, ms, run} the server, which is that one, is in
--         quarantine for so long; a busy answer has run behind it, too, if the server is |
--         {4, why} it cannot be held so: 1 the owner shares it, and cannot hold it exclusively
--         before it lets go; 2 its permits are held; 3 it is held, but not by permits |
--         {5, n} there are only n permits | {6, 0} there is no lease to share.
--         remaining_ms: until something may be free without a word; -1 for a lock that never
--         expires: another program's, or one that an operator made persistent. No fence above the
--         latest had been given when this was answered.
-- Idempotent by owner: the holder gets the same fence again, and its ttl anew. (One that was
-- granted by the fast path and never heard of it gets the first fence that it hears of.) An owner
-- that holds it exclusively and asks to share it does so from then on, and keeps its fence; sharers
-- at the head of the queue come in with it.
--
-- Whoever else uses SET NX PX on the same key excludes us, and we exclude them. Our values have
-- ':hf:' in them, so neither side takes the other's value for its own.

local lock, line, waiters, counter = KEYS[1], KEYS[2], KEYS[3], KEYS[4]
local holders, limit, boot = KEYS[5], KEYS[6], KEYS[8]

-- Is it held exclusively by somebody else, and for how long? Then all that can be done is to wait.
local stored = redis.call('GET', lock)
local holder, mark = string.match(stored or '', '^(%x+):hf:%d*@?%d*(%+?)$')
local remains = holder and #holder == 32 and holder ~= ARGV[1] and redis.call('PTTL', lock)
if remains and mark == '+' and remains >= 0 then
    remains = remains > constant.slack_ms and remains - constant.slack_ms
end

-- What is known of one in the queue; see queue.lua.
local waiter_text = ARGV[6] .. ' ' .. ARGV[3] .. ' ' .. ARGV[9] .. ARGV[10] .. '/' .. ARGV[11] ..
    ' ' .. ARGV[4]

-- The usual newcomer, who stands behind all others. Most that come here do, so this is done before
-- the functions are made that only others need; and no number is made a text, but for the first in
-- the queue. queue.lua says why, and what happens here.
if remains and remains >= 0 and ARGV[5] == '0' and ARGV[4] ~= '' and ARGV[9] ~= 'p' and
    ARGV[12] == '0' then
    local time = redis.call('TIME')
    local ticket = time[1] .. string.sub('00000' .. time[2], -6)
    if redis.call('ZADD', line, 'NX', ticket, ARGV[1]) == 1 then
        local ahead = redis.call('ZRANK', line, ARGV[1])
        if redis.call('ZCARD', line) == ahead + 1 and ahead < tonumber(ARGV[8]) then
            redis.call('SET', waiters .. ':' .. ARGV[1], waiter_text, 'PX', ARGV[7])
            redis.call('PEXPIRE', line, ARGV[7])
            if mark == '' then
                redis.call('SET', lock, stored .. '+', 'PX', remains + constant.slack_ms)
            end
            return {code.busy, remains, ahead, tonumber(ticket),
                tonumber(redis.call('GET', counter) or 0)}
        end
        redis.call('ZREM', line, ARGV[1])  -- clock set back, or the queue is full: see below
    end
end

--@include queue.lua

-- Puts the owner in the queue, or finds it there. Answers how many are ahead of it, and its ticket;
-- nil if the queue is full, and then it stands there no more. The dead at the head are dropped by
-- whoever looks again, and before anyone is refused.
local function join_queue()
    local owner, ticket, place = ARGV[1], ARGV[5], ARGV[7]
    local newcomer, most_waiters = ticket == '0', tonumber(ARGV[8])
    if newcomer then ticket = time_text() end
    local came = redis.call('ZADD', line, 'NX', ticket, owner) == 1
    if not came then ticket = redis.call('ZSCORE', line, owner) end
    local ahead = redis.call('ZRANK', line, owner)
    local behind = newcomer and came and redis.call('ZCARD', line) - ahead - 1 or 0
    if behind > 0 then  -- the clock was set back since they came
        ticket = digits(redis.call('ZRANGE', line, -1, -1, 'WITHSCORES')[2] + 1)
        redis.call('ZADD', line, ticket, owner)
        ahead = ahead + behind
    end
    while ahead > 0 and (not newcomer or ahead >= most_waiters) do
        local first = redis.call('ZRANGE', line, '0', '0')[1]
        if redis.call('EXISTS', waiter_key(first)) == 1 then break end
        forget(first)
        ahead = ahead - 1
    end
    if ahead >= most_waiters then
        redis.call('ZREM', line, owner)
        return nil
    end
    redis.call('SET', waiter_key(owner), waiter_text, 'PX', place)
    redis.call('PEXPIRE', line, place)
    return ahead, tonumber(ticket)
end

local function busy(left, ahead, ticket)
    ahead = ahead or redis.call('ZCARD', line)
    return {code.busy, left, ahead, ticket or 0, tonumber(redis.call('GET', counter) or 0)}
end

if remains then
    if ARGV[12] ~= '0' then return {code.nothing_to_share, 0} end
    if ARGV[9] == 'p' then return {code.other_mode, code.held_otherwise} end
    if ARGV[4] == '' then return busy(remains) end
    local ahead, ticket = join_queue()
    if not ahead then return {code.line_full, tonumber(ARGV[8])} end
    if mark == '' and remains >= 0 then
        redis.call('SET', lock, stored .. '+', 'PX', remains + slack)
    elseif mark == '' then
        redis.call('SET', lock, stored .. '+', 'KEEPTTL')
    end
    return busy(remains, ahead, ticket)
end

--@include boot.lua
--@include holders.lua
--@include handoff.lua

local owner, ttl, reserve = ARGV[1], tonumber(ARGV[2]), tonumber(ARGV[3])
local waits, claim, turns = ARGV[4] ~= '', ARGV[6], tonumber(ARGV[12])
local kind, permits, most = ARGV[9], tonumber(ARGV[10]), tonumber(ARGV[11])

-- The owner is alone and asks again.
local function again_alone(state)
    local fence = state.fence or turns ~= 0 and turns or draw_fence(reserve)
    if state.kind == kind and state.fence and state.since then
        if state.left < ttl then
            redis.call('PEXPIRE', lock, state.marked and ttl + slack or ttl)
        end
        return {code.granted, fence}
    end
    state.kind, state.fence, state.left = kind, fence, math.max(state.left, ttl)
    if kind == 's' and state.marked and quarantine_left(server_time()) == 0 then
        handoff(state)
    end
    settle(state)
    return {code.granted, fence}
end

-- The owner is one of several and asks again.
local function again_beside(state, share)
    local ends, held, fence, since = string.match(share, '^(%d+) (%d+) (%d+) (%d+)$')
    if fence == '0' then fence = draw_fence(reserve) end
    redis.call('HSET', holders, owner,
        share_text(math.max(tonumber(ends), now_ms() + ttl), held, fence, since))
    state.left = math.max(state.left, ttl)
    store(state, state.marked)
    return {code.granted, tonumber(fence)}
end

-- The answer to an owner that holds the name already; nil if it does not.
local function again(state)
    local share = state.first and redis.call('HGET', holders, owner)
    if state.owner ~= owner and not share then return nil end
    forget(owner)
    if state.kind == 's' and kind == 'x' then return {code.other_mode, code.shares_it} end
    if (state.kind == 'p') ~= (kind == 'p') then
        return {code.other_mode, kind == 'p' and code.held_otherwise or code.held_by_permits}
    end
    return share and again_beside(state, share) or again_alone(state)
end

local function grant(state)
    local fence = draw_fence(reserve)
    admit(state, owner, kind, permits, most, ttl, fence)
    return {code.granted, fence}
end

local state = look()
local mine = again(state)
if mine then return mine end
if turns ~= 0 then return {code.nothing_to_share, 0} end
if state.kind and state.kind ~= '?' and (state.kind == 'p') ~= (kind == 'p') then
    return {code.other_mode, kind == 'p' and code.held_otherwise or code.held_by_permits}
end
if kind == 'p' then most = permits_of(most) end
if permits > most then return {code.few_permits, most} end

local noted = state.marked
local others = noted
if not state.kind then others = redis.call('EXISTS', line) == 1 end
if (claim == '0' or not others) and fits(state, kind, permits, most) and
    (not boot or quarantine_left(server_time()) == 0) then
    -- A lock that is held without a mark may have a line all the same: a release on a server that
    -- was out of memory deletes the lock, and whoever takes it next does not look.
    if others or state.kind then forget(owner) end
    local given = grant(state)
    store(state, others)
    if others then tell_of_brief(ttl) end
    return given
end

local now = server_time()
local _, ticket
if waits then
    _, ticket = join_queue()
    if not ticket then return {code.line_full, tonumber(ARGV[8])} end
end
local foreign = state.kind == '?'
local quarantine, run = 0, nil
if not foreign then quarantine, run = quarantine_left(now) end
if quarantine > 0 then
    if not state.kind and not waits then return {code.quarantined, quarantine, run} end
elseif not foreign then
    state.marked = true
    if handoff(state, waits and owner) and fits(state, kind, permits, most) then
        forget(owner)
        local given = grant(state)
        if kind ~= 'x' then handoff(state) end
        settle(state)
        return given
    end
end
if not state.kind or state.changed then
    state.marked = true
    settle(state)
elseif waits and not noted and not foreign then
    if state.left < 0 then
        redis.call('SET', lock, state.value .. '+', 'KEEPTTL')
    else
        redis.call('SET', lock, state.value .. '+', 'PX', state.left + slack)
    end
end

local left = state.left
if state.first then left = state.first - now_ms() + 1 end
if not state.kind then left = 1 end
if quarantine > 0 then left = quarantine end
local answer = busy(left, waits and redis.call('ZRANK', line, owner), ticket)
if quarantine > 0 then answer[6] = run end
return answer
