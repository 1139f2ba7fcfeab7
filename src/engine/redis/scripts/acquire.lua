-- SPDX-License-Identifier: Apache-2.0
-- Grants a free name to an owner; otherwise says busy and, if asked to, keeps a place in line.
--
-- KEYS  1 lock  2 line  3 waiters  4 fence counter
-- ARGV  1 owner  2 ttl_ms  3 spare fences  4 channel ('' refuses instead of standing in line)
--       5 ticket ('0' for a newcomer)  6 claim_ms  7 place_ms  8 most waiters
-- Answers {1, fence} granted | {0, remaining_ms, ahead, ticket, holder's fence} busy |
--         {2, waiters} the line is full. remaining_ms is -1 for a lock of another program that
--         never expires, the holder's fence is 0 for a lock of another program.
-- Idempotent by owner: the holder gets the same fence again, and its ttl anew.
--
-- The lock's value is "owner:fence". Whoever else uses SET NX PX on the same key excludes us, and
-- we exclude them; the compare-and-delete of either side never matches the other's value.

local lock, line, waiters, counter = KEYS[1], KEYS[2], KEYS[3], KEYS[4]
local owner, ttl, reserve = ARGV[1], ARGV[2], tonumber(ARGV[3])

if redis.call('EXISTS', line) == 0 then
    local top = redis.call('INCRBY', counter, 1 + reserve)
    if top >= 1600000000000000 then
        local fence = top - reserve
        local value = owner .. ':' .. string.format('%.0f', fence)
        if redis.call('SET', lock, value, 'NX', 'PX', ttl) then return {1, fence} end
    else
        redis.call('DEL', counter) -- it was lost: the next grant starts it anew, with an expiry
    end
end

--@include line.lua

local held = redis.call('GET', lock)
if held and string.sub(held, 1, #owner + 1) == owner .. ':' then
    forget(owner)
    if redis.call('PTTL', lock) < tonumber(ttl) then redis.call('PEXPIRE', lock, ttl) end
    return {1, tonumber(string.sub(held, #owner + 2))}
end

local now = server_time()
local channel = ARGV[4]
local ticket = tonumber(ARGV[5])

if channel ~= '' then
    if not redis.call('ZSCORE', line, owner) then
        local length = redis.call('ZCARD', line)
        if length >= tonumber(ARGV[8]) then return {2, length} end
        if ticket == 0 then
            local last = redis.call('ZRANGE', line, -1, -1, 'WITHSCORES')[2]
            ticket = math.max(now, last and tonumber(last) + 1 or 0)
        end
        redis.call('ZADD', line, string.format('%.0f', ticket), owner)
    end
    local place = ARGV[7]
    redis.call('HSET', waiters, owner, string.format('%.0f %s %s %s',
        math.floor(now / 1000) + tonumber(place), ARGV[6], ARGV[3], channel))
    redis.call('PEXPIRE', line, place)
    redis.call('PEXPIRE', waiters, place)
end

if not held then
    local who = hand_over(now, channel ~= '' and owner)
    if not who or who == owner then
        forget(owner)
        local fence = draw_fence(reserve)
        hold(owner, fence, ttl)
        return {1, fence}
    end
    held = redis.call('GET', lock)
end

local remaining = redis.call('PTTL', lock)
local ahead = redis.call('ZRANK', line, owner) or redis.call('ZCARD', line)
local fence = string.match(held, '^%x+:(%d+)$')
return {0, remaining, ahead, ticket, tonumber(fence or 0)}
