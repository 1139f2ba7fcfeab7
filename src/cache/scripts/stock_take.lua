-- SPDX-License-Identifier: Apache-2.0
-- Takes from a number, or puts back; it never goes below zero.
--
-- KEYS  1 number
-- ARGV  1 how many to take; negative puts back  2 life_ms
-- Answers {1 done | 0 there is not enough | -1 there is no number, how many there are now}.
-- Not repeatable.

local seen = redis.call('GET', KEYS[1])
local count = tonumber(seen or 0)
local n = tonumber(ARGV[1])
if not count then return redis.error_reply('WRONGTYPE not a number') end
if not seen then return {-1, 0} end
if count < n then return {0, count} end
count = redis.call('INCRBY', KEYS[1], string.format('%.0f', -n))
redis.call('PEXPIRE', KEYS[1], ARGV[2])
return {1, count}
