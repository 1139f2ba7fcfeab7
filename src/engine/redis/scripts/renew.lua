-- SPDX-License-Identifier: Apache-2.0
-- Makes the owner's lease run for ttl from now; never shortens it. What it needs for that, a server
-- which is out of memory still carries out. Writes down the fence of a lease that was granted the
-- swift way, and since when it is held, for whoever lists the names.
--
-- KEYS  1 lock  2 evicted
-- ARGV  1 owner and a colon  2 ttl_ms  3 fence
-- Answers 1 renewed | 2 renewed, and somebody waits | 0 it is not the owner's (any more) | the
--         words of whoever took it away from the owner. Unless it was renewed, nothing was touched.

local lock, owner, ttl = KEYS[1], ARGV[1], tonumber(ARGV[2])
local held = redis.call('GET', lock)
if not held or string.sub(held, 1, #owner) ~= owner then
    return redis.call('HGET', KEYS[2], string.sub(owner, 1, -2)) or 0
end

local slack = 3000
local left = redis.call('PTTL', lock)

-- Nothing has renewed it yet, so what its ttl has lost is what it was held for.
local function value(lease_left)
    local t = redis.call('TIME')
    local since = t[1] * 1000 + math.floor(t[2] / 1000) - math.max(ttl - lease_left, 0)
    return owner .. ARGV[3] .. '@' .. string.format('%.0f', since)
end

if string.sub(held, -1) == '+' then
    if left <= slack then return 0 end
    if held == owner .. '+' and ARGV[3] ~= '0' then
        redis.pcall('SET', lock, value(left - slack) .. '+', 'KEEPTTL')
    end
    if left < ttl + slack then redis.call('PEXPIRE', lock, ttl + slack) end
    return 2
end
if held == owner and ARGV[3] ~= '0' then
    redis.pcall('SET', lock, value(left), 'KEEPTTL')
end
if left < ttl then redis.call('PEXPIRE', lock, ttl) end
return 1
