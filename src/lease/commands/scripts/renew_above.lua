-- SPDX-License-Identifier: Apache-2.0
-- As renew.lua; and no fence that is given from now on is at or below a floor. For a quorum, whose
-- fence may have been drawn by another server.
--
-- KEYS  1 lock  2 evicted  3 fence counter
-- ARGV  1 owner and ':hf:'  2 ttl_ms  3 fence of the lease  4 floor  5 how far ahead of this
--       server's clock the floor may be, in ms (0: any)
-- Answers as renew.lua; 3 renewed, but the floor is too far ahead and was not taken.
--
-- A server that loses its counter starts again from its clock, after a quarantine. If no floor is
-- ahead of the clock by more than the quarantine, the clock is past every floor by then.

local lock, counter, owner, ttl = KEYS[1], KEYS[3], ARGV[1], tonumber(ARGV[2])
local t = redis.call('TIME')
local function answer(what) return {what, t[1], t[2]} end
local held = redis.call('GET', lock)
if not held or string.sub(held, 1, #owner) ~= owner then
    return answer(redis.call('HGET', KEYS[2], string.sub(owner, 1, -5)) or code.lost)
end

local marked = string.sub(held, -1) == '+'
local slack = marked and constant.slack_ms or 0
local left = redis.call('PTTL', lock)  -- below 0: an operator made it persistent, until now
if marked and left >= 0 and left <= slack then return answer(code.lost) end

if tonumber(redis.call('GET', counter) or 0) < tonumber(ARGV[4]) then
    local furthest = tonumber(ARGV[5])
    if furthest > 0 and tonumber(ARGV[4]) > t[1] * 1000000 + t[2] + furthest * 1000 then
        if left < ttl + slack then redis.call('PEXPIRE', lock, ttl + slack) end
        return answer(code.floor_too_far)
    end
    redis.call('SET', counter, ARGV[4], 'PX', constant.counter_life_ms)
end
-- Nothing has renewed one that has no fence yet, so what its ttl has lost is what it was held for.
local known, since = string.match(held, '^(%d*)(@?%d*)', #owner + 1)
local fence = (tonumber(known) or 0) < tonumber(ARGV[3]) and ARGV[3] or known
if fence ~= known or since == '' then
    if since == '' then
        local ago = known == '' and math.max(ttl + slack - left, 0) or 0
        since = '@' .. string.format('%.0f', t[1] * 1000 + math.floor(t[2] / 1000) - ago)
    end
    redis.call('SET', lock, owner .. fence .. since .. (marked and '+' or ''), 'KEEPTTL')
end
if left < ttl + slack then redis.call('PEXPIRE', lock, ttl + slack) end
return answer(marked and code.renewed_contended or code.renewed)
