-- SPDX-License-Identifier: Apache-2.0
-- A worker's step: says what became of the request that it had, and gets the next one when it is
-- due.
--
-- The state is a hash: owner and until (the lease, server us), next (when the next request leaves),
-- given (the owner that has the first request now), tries (how often that failed).
--
-- KEYS  1 list of requests  2 state
-- ARGV  1 worker  2 outcome of the last: done, failed, or nothing  3 lease_us  4 interval_us
--       5 attempts  6 life_ms
-- Answers {'busy' | 'empty' | 'wait', us to wait} | {'take', request}, and then 1 if a request was
-- dropped. Not repeatable.

local seconds_and_rest = redis.call('TIME')
local now = seconds_and_rest[1] * 1000000 + seconds_and_rest[2]
local state = redis.call('HMGET', KEYS[2], 'owner', 'until', 'next', 'given', 'tries')
if state[1] and state[1] ~= ARGV[1] and tonumber(state[2]) > now then
    return {'busy', tonumber(state[2]) - now, 0}
end
local dropped = 0
if ARGV[2] ~= '' and state[4] == ARGV[1] then
    local tries = tonumber(state[5] or 0) + 1
    local over = ARGV[2] == 'failed' and tries >= tonumber(ARGV[5])
    if ARGV[2] == 'done' or over then
        redis.call('LPOP', KEYS[1])
        redis.call('HSET', KEYS[2], 'tries', 0)
    else
        redis.call('HSET', KEYS[2], 'tries', tries)
    end
    if over then dropped = 1 end
end
redis.call('HDEL', KEYS[2], 'given')
redis.call('HSET', KEYS[2], 'owner', ARGV[1], 'until', string.format('%.0f', now + ARGV[3]))
redis.call('PEXPIRE', KEYS[2], ARGV[6])
local next_at = tonumber(state[3] or 0)
local first = redis.call('LINDEX', KEYS[1], 0)
if not first then return {'empty', 0, dropped} end
if next_at > now then return {'wait', next_at - now, dropped} end
-- A worker that comes a little late keeps the rate; after a pause there is no burst.
local interval = tonumber(ARGV[4])
next_at = now - next_at < interval and next_at + interval or now + interval
redis.call('HSET', KEYS[2], 'next', string.format('%.0f', next_at), 'given', ARGV[1])
redis.call('PEXPIRE', KEYS[1], ARGV[6])
return {'take', first, dropped}
