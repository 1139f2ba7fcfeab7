-- SPDX-License-Identifier: Apache-2.0
-- Ends the owner's lease, and hands on what is free then to those in line that live.
--
-- KEYS  1 lock  2 line  3 waiters  4 fence counter  5 holders  6 limit  7 evicted  8 boot (only if
--       every grant must be careful)
-- ARGV  1 owner  2 quarantine_ms
-- Answers 1 released | 0 it was not the owner's (any more) | the words of whoever took it away.

local lock, line, waiters, counter = KEYS[1], KEYS[2], KEYS[3], KEYS[4]
local holders, limit, evicted, boot = KEYS[5], KEYS[6], KEYS[7], KEYS[8]
local owner = ARGV[1]

local held = redis.call('GET', lock) or ''
local alone = string.sub(held, 1, #owner + 1) == owner .. ':'
if alone and string.sub(held, -1) ~= '+' then return redis.call('DEL', lock) end
if not alone and string.sub(held, 1, 1) ~= ':' then
    return redis.call('HGET', evicted, owner) or 0
end

--@include boot.lua
--@include line.lua
--@include holders.lua
--@include hand_over.lua
--@include next.lua

local state = look()
if not drop(state, owner) then return redis.call('HGET', evicted, owner) or 0 end
let_next(state)
return 1
