-- SPDX-License-Identifier: Apache-2.0
-- Ends the owner's lease, and hands the name to the next in line that lives.
--
-- KEYS  1 lock  2 line  3 waiters  4 fence counter  5 evicted  6 boot (only if every grant must be
--       careful)
-- ARGV  1 owner  2 quarantine_ms
-- Answers 1 released | 0 it was not the owner's (any more) | the words of whoever took it away.

local lock, line, waiters, counter, boot = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[6]
local owner = ARGV[1]

local held = redis.call('GET', lock)
if not held or string.sub(held, 1, #owner + 1) ~= owner .. ':' then
    return redis.call('HGET', KEYS[5], owner) or 0
end
if string.sub(held, -1) ~= '+' then return redis.call('DEL', lock) end

--@include boot.lua
--@include line.lua
--@include next.lua

let_next()
return 1
