-- SPDX-License-Identifier: Apache-2.0
-- Grants a free name to an owner; otherwise says busy and, if asked to, keeps a place in line. Most
-- grants do not come here: see the swift way in lease_commands.hpp.
--
-- KEYS  1 lock  2 line  3 waiters  4 fence counter  5 boot (only if every grant must be careful)
-- ARGV  1 owner  2 ttl_ms  3 spare fences  4 channel ('' refuses instead of standing in line)
--       5 ticket ('0' for a newcomer)  6 claim_ms (0 barges: takes a free lock before those in
--       line)  7 place_ms  8 most waiters  9 quarantine_ms
-- Answers {1, fence} granted | {0, remaining_ms, ahead, ticket, latest fence} busy |
--         {2, waiters} the line is full | {3, ms} the server is in quarantine for so long.
--         remaining_ms is -1 for a lock of another program that never expires. No fence above the
--         latest had been given when this was answered.
-- Idempotent by owner: the holder gets the same fence again, and its ttl anew. (One that was
-- granted the swift way and never heard of it gets the first fence that it hears of.)
--
-- Whoever else uses SET NX PX on the same key excludes us, and we exclude them. Our values have a
-- colon behind the owner or are a lone '+', so the compare-and-delete of either side never matches
-- the other's value.

local lock, line, waiters, counter, boot = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5]

--@include boot.lua
--@include line.lua

local owner, ttl, reserve = ARGV[1], tonumber(ARGV[2]), tonumber(ARGV[3])
local channel, ticket, claim = ARGV[4], tonumber(ARGV[5]), ARGV[6]

-- The milliseconds that a value's lease still has; at most 0 for a marked one that is over.
local function lease_left(value)
    local left = redis.call('PTTL', lock)
    if string.sub(value, -1) == '+' then return left - slack end
    return left
end

local held = redis.call('GET', lock)
local left = held and lease_left(held)
local ours = held and string.find(held, '^%x+:%d*@?%d*%+?$') and string.sub(held, 33, 33) == ':'
local marked = held == '+' or ours and string.sub(held, -1) == '+'
if marked and left <= 0 then held = false end

if held and string.sub(held, 1, #owner + 1) == owner .. ':' then
    forget(owner)
    local fence = tonumber(string.match(held, '%d+', #owner + 2))
    if not fence then
        fence = draw_fence(reserve)
        hold(owner, fence, math.max(left, ttl), marked and 1 or 0)
    elseif left < ttl then
        redis.call('PEXPIRE', lock, marked and ttl + slack or ttl)
    end
    return {1, fence}
end

local alone = not held and redis.call('EXISTS', line) == 0
if alone and (not boot or quarantine_left(server_time()) == 0) then
    local fence = draw_fence(reserve)
    hold(owner, fence, ttl, 0)
    return {1, fence}
end

local now = server_time()
local ahead

if channel ~= '' then
    if ticket == 0 then
        local last = redis.call('ZRANGE', line, -1, -1, 'WITHSCORES')[2]
        ticket = math.max(now, last and tonumber(last) + 1 or 0)
    end
    if redis.call('ZADD', line, 'NX', digits(ticket), owner) == 0 then
        ticket = tonumber(redis.call('ZSCORE', line, owner))
    end
    ahead = redis.call('ZRANK', line, owner)
    -- The dead at the head are dropped by whoever looks again, and before anyone is refused.
    while ahead > 0 and (ARGV[5] ~= '0' or ahead >= tonumber(ARGV[8])) do
        local first = redis.call('ZRANGE', line, 0, 0)[1]
        local beat = string.match(redis.call('HGET', waiters, first) or '', '^%d+')
        if beat and tonumber(beat) * 1000 >= now then break end
        forget(first)
        ahead = ahead - 1
    end
    if ahead >= tonumber(ARGV[8]) then
        redis.call('ZREM', line, owner)
        return {2, ahead}
    end
    local place = ARGV[7]
    redis.call('HSET', waiters, owner, string.format('%s %s %s %s',
        digits(math.floor(now / 1000) + tonumber(place)), claim, ARGV[3], channel))
    redis.call('PEXPIRE', line, place)
    redis.call('PEXPIRE', waiters, place)
    if held and ours and not marked then
        redis.call('SET', lock, held .. '+', 'PX', left + slack)
    end
end

if not held then
    local wait = quarantine_left(now)
    local who = ''
    if wait > 0 then
        if channel == '' then return {3, wait} end
        keep_for_line()
    elseif claim == '0' then
        who = owner
    else
        who = hand_over(now, channel ~= '' and owner)
    end
    if not who or who == owner then
        forget(owner)
        local fence = draw_fence(reserve)
        hold(owner, fence, ttl, redis.call('ZCARD', line))
        return {1, fence}
    end
    held = redis.call('GET', lock)
    left = wait > 0 and wait or math.max(lease_left(held), 1)
    ahead = ahead and redis.call('ZRANK', line, owner)
end

if not ahead then ahead = redis.call('ZCARD', line) end
return {0, left, ahead, ticket, tonumber(redis.call('GET', counter) or 0)}
