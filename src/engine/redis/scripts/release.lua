-- SPDX-License-Identifier: Apache-2.0
-- Ends the owner's lease, and hands the name to the next in line that lives.
--
-- KEYS  1 lock  2 line  3 waiters  4 fence counter
-- ARGV  1 owner
-- Answers 1 released | 0 it was not the owner's (any more); nothing was touched.

local lock, line, waiters, counter = KEYS[1], KEYS[2], KEYS[3], KEYS[4]
local owner = ARGV[1]

local held = redis.call('GET', lock)
if not held or string.sub(held, 1, #owner + 1) ~= owner .. ':' then return 0 end
redis.call('DEL', lock)
if redis.call('EXISTS', line) == 0 then return 1 end

--@include line.lua

hand_over(server_time())
return 1
