-- SPDX-License-Identifier: Apache-2.0
-- Changes how many permits there are. Nobody loses any; those in the queue get what there is more.
--
-- KEYS  1 lock  2 line  3 waiters  4 fence counter  5 holders  6 limit  7 evicted  8 boot (only if
--       every grant must be careful)
-- ARGV  1 permits  2 quarantine_ms
-- Answers 1.

local lock, line, waiters, counter = KEYS[1], KEYS[2], KEYS[3], KEYS[4]
local holders, limit, boot = KEYS[5], KEYS[6], KEYS[8]

--@include boot.lua
--@include queue.lua
--@include holders.lua
--@include handoff.lua

redis.call('SET', limit, ARGV[1], 'PX', constant.limit_life_ms)
local state = look()
if state.kind == 'p' and state.marked and quarantine_left(server_time()) == 0 then
    handoff(state)
    settle(state)
end
return 1
