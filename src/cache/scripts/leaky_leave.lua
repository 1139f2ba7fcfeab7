-- SPDX-License-Identifier: Apache-2.0
-- A worker stops: another one may begin at once.
--
-- KEYS  1 list of requests  2 state (see leaky_take.lua)
-- ARGV  1 worker  2 outcome of its last request: done, or nothing
-- Answers 1 | 0 it was not this worker's turn. Repeatable.

local state = redis.call('HMGET', KEYS[2], 'owner', 'given')
if state[1] ~= ARGV[1] then return 0 end
if ARGV[2] == 'done' and state[2] == ARGV[1] then
    redis.call('LPOP', KEYS[1])
    redis.call('HSET', KEYS[2], 'tries', 0)
end
redis.call('HDEL', KEYS[2], 'owner', 'until', 'given')
redis.call('PUBLISH', KEYS[1], '')
return 1
