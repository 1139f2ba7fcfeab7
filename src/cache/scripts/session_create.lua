-- SPDX-License-Identifier: Apache-2.0
-- Makes a session and notes it with its user's others.
--
-- Of a session's fields those with a '_' are ours: _user, _version, _until (its absolute end,
-- server ms), _seen (the last use that was noted).
--
-- KEYS  1 session  2 the user's sessions: a sorted set of ids by their absolute end
-- ARGV  1 id  2 user  3 ttl_ms  4 absolute_ms  5 most sessions of a user  then field, value, …
-- Answers 1 made | 0 the user has too many. Repeatable.

local seconds_and_rest = redis.call('TIME')
local now = seconds_and_rest[1] * 1000 + math.floor(seconds_and_rest[2] / 1000)
local ends = string.format('%.0f', now + ARGV[4])
redis.call('ZREMRANGEBYSCORE', KEYS[2], '-inf', string.format('%.0f', now))
if redis.call('ZCARD', KEYS[2]) >= tonumber(ARGV[5]) and
    not redis.call('ZSCORE', KEYS[2], ARGV[1]) then return 0 end
redis.call('HSET', KEYS[1], '_user', ARGV[2], '_version', 1, '_until', ends,
    '_seen', string.format('%.0f', now))
for i = 6, #ARGV, 2 do redis.call('HSET', KEYS[1], ARGV[i], ARGV[i + 1]) end
redis.call('PEXPIRE', KEYS[1], math.min(ARGV[3], ARGV[4]))
redis.call('ZADD', KEYS[2], ends, ARGV[1])
redis.call('PEXPIRE', KEYS[2], ARGV[4])
return 1
