-- SPDX-License-Identifier: Apache-2.0
-- Raises the fence counter to the server's clock in microseconds, which is past every fence the
-- server can have given: nobody draws a million a second for long. Sent first on every new
-- connection, since a server that lost writes (a restart, a failover) has always lost its
-- connections too.
--
-- KEYS  1 fence counter
-- Answers TIME. A script that has begun to write is not stopped for want of memory, so it writes
-- the expiry first. A server that cannot raise the counter all the same forgets it: one that is
-- lost starts from the clock.

local t = redis.call('TIME')
local now = t[1] * 1000000 + t[2]
local top = tonumber(redis.call('GET', KEYS[1]) or 0)
if top < now then
    redis.call('PEXPIRE', KEYS[1], constant.counter_life_ms)
    local done = redis.pcall('SET', KEYS[1], string.format('%.0f', now), 'PX',
        constant.counter_life_ms)
    if done.err then
        if not string.find(done.err, 'OOM', 1, true) then return done end
        redis.call('DEL', KEYS[1])
    end
else
    redis.call('PEXPIRE', KEYS[1], constant.counter_life_ms)
end
return t
