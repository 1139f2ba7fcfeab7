-- SPDX-License-Identifier: Apache-2.0
-- Ends whatever the owner has here: its place in line, or a lease that was handed to it meanwhile.
--
-- KEYS  1 lock  2 line  3 waiters  4 fence counter  5 boot (only if every grant must be careful)
-- ARGV  1 owner  2 quarantine_ms
-- Answers 1 there was something | 0 there was nothing.

local lock, line, waiters, counter, boot = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5]
local owner = ARGV[1]

--@include boot.lua
--@include line.lua
--@include next.lua

local found = redis.call('ZREM', line, owner)
redis.call('HDEL', waiters, owner)
local held = redis.call('GET', lock)
if held and string.sub(held, 1, #owner + 1) == owner .. ':' then
    let_next()
    return 1
end
if held == '+' and redis.call('EXISTS', line) == 0 then redis.call('DEL', lock) end
return found
