-- SPDX-License-Identifier: Apache-2.0
-- KEYS  1 list of requests  2 state (see leaky_take.lua)
-- ARGV  1 request  2 capacity  3 life_ms  4 interval_us
-- Answers {1 taken | 0 full, how many wait, us until it leaves}. Not repeatable.

local waiting = redis.call('LLEN', KEYS[1])
if waiting >= tonumber(ARGV[2]) then return {0, waiting, 0} end
local seconds_and_rest = redis.call('TIME')
local now = seconds_and_rest[1] * 1000000 + seconds_and_rest[2]
local next_at = tonumber(redis.call('HGET', KEYS[2], 'next') or 0)
redis.call('RPUSH', KEYS[1], ARGV[1])
redis.call('PEXPIRE', KEYS[1], ARGV[3])
-- Workers that found nothing wait for this. The first of a list wakes them.
if waiting == 0 then redis.call('PUBLISH', KEYS[1], '') end
return {1, waiting + 1, math.max(0, next_at - now) + waiting * ARGV[4]}
