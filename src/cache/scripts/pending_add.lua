-- SPDX-License-Identifier: Apache-2.0
-- Notes that a key is about to be written in the source, and must then be deleted here.
--
-- KEYS  1 list (a sorted set: member by due time, server ms)
-- ARGV  1 member: a token, ':' and the key  2 due in ms  3 life of the list in ms  4 most members
-- Answers 1 noted | 0 the list is full. Repeatable.

local seconds_and_rest = redis.call('TIME')
local now = seconds_and_rest[1] * 1000 + math.floor(seconds_and_rest[2] / 1000)
if redis.call('ZCARD', KEYS[1]) >= tonumber(ARGV[4]) then return 0 end
redis.call('ZADD', KEYS[1], string.format('%.0f', now + ARGV[2]), ARGV[1])
redis.call('PEXPIRE', KEYS[1], ARGV[3])
return 1
