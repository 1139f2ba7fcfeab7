-- SPDX-License-Identifier: Apache-2.0
-- Grants a name that nobody holds or waits for: the swift way in one step, for where two commands
-- could part (see lease_commands.hpp).
--
-- KEYS  1 lock  2 fence counter  3 limit (only for a permit)
-- ARGV  1 owner, a colon and the kind  2 ttl_ms  3 fences to draw  4 how long a changed limit is
--       remembered, ms (only for a permit)
-- Answers the last fence drawn | 0 it is taken, or the counter was lost: acquire.lua is needed. A
-- fence that was drawn for nothing is only left out.

local top = redis.call('INCRBY', KEYS[2], ARGV[3])
if top < 1600000000000000 then return 0 end
local t = redis.call('TIME')
local value = string.format('%s%.0f@%.0f', ARGV[1], top - ARGV[3] + 1,
    math.ceil((t[1] * 1000000 + t[2]) / 1000))
if not redis.call('SET', KEYS[1], value, 'NX', 'PX', ARGV[2]) then return 0 end
if KEYS[3] then redis.call('PEXPIRE', KEYS[3], ARGV[4]) end
return top
