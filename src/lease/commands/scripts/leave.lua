-- SPDX-License-Identifier: Apache-2.0
-- Ends whatever the owner has here: its place in the queue, or a lease that was handed to it
-- meanwhile.
--
-- KEYS  1 lock  2 line  3 waiters  4 fence counter  5 holders  6 limit  7 evicted  8 boot (only if
--       every grant must be careful)
-- ARGV  1 owner  2 quarantine_ms
-- Answers 1 there was something | 0 there was nothing.

local lock, line, waiters, counter = KEYS[1], KEYS[2], KEYS[3], KEYS[4]
local holders, limit, boot = KEYS[5], KEYS[6], KEYS[8]
local owner = ARGV[1]

--@include boot.lua
--@include queue.lua
--@include holders.lua
--@include handoff.lua
--@include next.lua

local found = redis.call('ZREM', line, owner)
redis.call('DEL', waiter_key(owner))
local state = look()
if drop(state, owner) then
    let_next(state)
    return code.released
end
-- Those behind it may fit where it did not.
if found == 1 and state.marked and state.kind ~= 'x' then let_next(state) end
return found
