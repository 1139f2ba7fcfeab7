-- SPDX-License-Identifier: Apache-2.0
-- Gives a permit, if fewer than the limit are out. A permit is a lease: one whose holder is never
-- heard of again comes back when its time is over.
--
-- KEYS  1 permits: sorted set, owner -> until when (server time in microseconds)
-- ARGV  1 owner  2 limit  3 ttl_us
-- Answers {1, permits out} | {0, permits out, until the first comes back at the latest, and the
-- last, in microseconds}. Repeatable: an owner that is in gets its permit again, its time anew.

--@include server_time.lua

local now, key, owner, ttl = server_now, KEYS[1], ARGV[1], tonumber(ARGV[3])
local oldest = redis.call('ZRANGE', key, 0, 0, 'WITHSCORES')
if oldest[1] and (#oldest[1] ~= 32 or string.find(oldest[1], '%X')) then
    return redis.error_reply('WRONGTYPE not the permits of a limit')
end
if oldest[1] and tonumber(oldest[2]) <= now then
    redis.call('ZREMRANGEBYSCORE', key, '-inf', string.format('%.0f', now))
end
local out = redis.call('ZCARD', key)
if out >= tonumber(ARGV[2]) and not redis.call('ZSCORE', key, owner) then
    local first = redis.call('ZRANGE', key, 0, 0, 'WITHSCORES')[2]
    local last = redis.call('ZRANGE', key, -1, -1, 'WITHSCORES')[2]
    return {0, out, first - now, last - now}
end
redis.call('ZADD', key, string.format('%.0f', now + ttl), owner)
local longest = redis.call('ZRANGE', key, -1, -1, 'WITHSCORES')[2] - now
redis.call('PEXPIRE', key, math.floor(longest / 1000) + 1)
return {1, redis.call('ZCARD', key)}
