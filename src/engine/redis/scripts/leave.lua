-- SPDX-License-Identifier: Apache-2.0
-- Ends whatever the owner has here: its place in line, or a lease that was handed to it meanwhile.
--
-- KEYS  1 lock  2 line  3 waiters  4 fence counter
-- ARGV  1 owner
-- Answers 1 there was something | 0 there was nothing.

local lock, line, waiters, counter = KEYS[1], KEYS[2], KEYS[3], KEYS[4]
local owner = ARGV[1]

--@include line.lua

local found = redis.call('ZREM', line, owner)
redis.call('HDEL', waiters, owner)
local held = redis.call('GET', lock)
if held and string.sub(held, 1, #owner + 1) == owner .. ':' then
    redis.call('DEL', lock)
    hand_over(server_time())
    found = 1
end
return found
