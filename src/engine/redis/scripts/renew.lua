-- SPDX-License-Identifier: Apache-2.0
-- Makes the owner's lease run for ttl from now; never shortens it. What it needs for that, a server
-- which is out of memory still carries out. Writes down the fence of a lease that was granted the
-- swift way, for whoever lists the names.
--
-- KEYS  1 lock
-- ARGV  1 owner and a colon  2 ttl_ms  3 fence
-- Answers 1 renewed | 2 renewed, and somebody waits | 0 it is not the owner's (any more); nothing
--         was touched.

local lock, owner, ttl = KEYS[1], ARGV[1], tonumber(ARGV[2])
local held = redis.call('GET', lock)
if not held or string.sub(held, 1, #owner) ~= owner then return 0 end

local slack = 3000
local left = redis.call('PTTL', lock)
if string.sub(held, -1) == '+' then
    if left <= slack then return 0 end
    if held == owner .. '+' and ARGV[3] ~= '0' then
        redis.pcall('SET', lock, owner .. ARGV[3] .. '+', 'KEEPTTL')
    end
    if left < ttl + slack then redis.call('PEXPIRE', lock, ttl + slack) end
    return 2
end
if held == owner and ARGV[3] ~= '0' then
    redis.pcall('SET', lock, owner .. ARGV[3], 'KEEPTTL')
end
if left < ttl then redis.call('PEXPIRE', lock, ttl) end
return 1
