-- SPDX-License-Identifier: Apache-2.0
-- As renew.lua; and no fence that is given from now on is at or below a floor. For a quorum, whose
-- fence may have been drawn by another server.
--
-- KEYS  1 lock  2 evicted  3 fence counter
-- ARGV  1 owner and a colon  2 ttl_ms  3 fence of the lease  4 floor
-- Answers as renew.lua.

local lock, counter, owner, ttl = KEYS[1], KEYS[3], ARGV[1], tonumber(ARGV[2])
local held = redis.call('GET', lock)
if not held or string.sub(held, 1, #owner) ~= owner then
    return redis.call('HGET', KEYS[2], string.sub(owner, 1, -2)) or 0
end

local marked = string.sub(held, -1) == '+'
local slack = marked and 3000 or 0
local left = redis.call('PTTL', lock)
if marked and left <= slack then return 0 end

if tonumber(redis.call('GET', counter) or 0) < tonumber(ARGV[4]) then
    redis.call('SET', counter, ARGV[4], 'PX', 604800000)
end
-- Nothing has renewed one that has no fence yet, so what its ttl has lost is what it was held for.
local known, since = string.match(held, '^(%d*)(@?%d*)', #owner + 1)
local fence = (tonumber(known) or 0) < tonumber(ARGV[3]) and ARGV[3] or known
if fence ~= known or since == '' then
    if since == '' then
        local t = redis.call('TIME')
        local ago = known == '' and math.max(ttl + slack - left, 0) or 0
        since = '@' .. string.format('%.0f', t[1] * 1000 + math.floor(t[2] / 1000) - ago)
    end
    redis.call('SET', lock, owner .. fence .. since .. (marked and '+' or ''), 'KEEPTTL')
end
if left < ttl + slack then redis.call('PEXPIRE', lock, ttl + slack) end
return marked and 2 or 1
