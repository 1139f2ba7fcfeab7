-- SPDX-License-Identifier: Apache-2.0
-- Makes a permit run for its ttl from now, if it is still out.
--
-- KEYS  1 permits
-- ARGV  1 owner  2 ttl_us
-- Answers 1 renewed | 0 the owner has no permit (any more). Repeatable.

--@include server_time.lua

local now, key, owner, ttl = server_now, KEYS[1], ARGV[1], tonumber(ARGV[2])
local ends = redis.call('ZSCORE', key, owner)
if not ends or tonumber(ends) <= now then return 0 end
redis.call('ZADD', key, string.format('%.0f', math.max(now + ttl, ends)), owner)
local longest = redis.call('ZRANGE', key, -1, -1, 'WITHSCORES')[2] - now
redis.call('PEXPIRE', key, math.floor(longest / 1000) + 1)
return 1
