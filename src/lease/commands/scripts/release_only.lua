-- SPDX-License-Identifier: Apache-2.0
-- As release.lua, but ends only a grant whose fence is not above one that is named: a later grant
-- of the same owner stays.
--
-- KEYS  1 lock  2 line  3 waiters  4 fence counter  5 holders  6 limit  7 evicted  8 boot (only if
--       every grant must be careful)
-- ARGV  1 owner  2 fence  3 quarantine_ms
-- Answers 1 released | 0 it was not the owner's (any more), or a later grant.

local lock, line, waiters, counter = KEYS[1], KEYS[2], KEYS[3], KEYS[4]
local holders, limit, boot = KEYS[5], KEYS[6], KEYS[8]
local owner = ARGV[1]

local held = redis.call('GET', lock)
if not held or string.sub(held, 1, #owner + 4) ~= owner .. ':hf:' then return code.not_held end
if tonumber(string.match(held, '^%d+', #owner + 5) or 0) > tonumber(ARGV[2]) then
    return code.not_held
end
if string.sub(held, -1) ~= '+' then return redis.call('DEL', lock) end

--@include boot.lua
--@include queue.lua
--@include holders.lua
--@include handoff.lua
--@include next.lua

local state = look()
if not drop(state, owner) then return code.not_held end
let_next(state)
return code.released
