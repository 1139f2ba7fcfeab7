-- SPDX-License-Identifier: Apache-2.0
-- Stores what was loaded, if the lease that it was loaded under is still in the entry.
--
-- A lease that was voided by an invalidation, or that another one took over, is not there any more:
-- then what was loaded may be older than what the source has, and is refused.
--
-- KEYS  1 entry
-- ARGV  1 token; empty: store whatever there is  2 kind, 'v' or 'n'  3 fresh_ms  4 life_ms
--       5 how long the load took, us, 10 digits  6 value  7 channel  8 message
-- Answers {1 stored | 0 refused, server time in us}. Repeatable: the token stays in the entry.

--@include entry_header.lua

local now_text = string.format('%.0f', server_now)
local token = ARGV[1]
if token == '' then
    token = string.rep('0', 32)
elseif redis.call('GETRANGE', KEYS[1], 46, 77) ~= token then
    return {0, now_text}
end
local soft = string.format('%016.0f', server_now + ARGV[3] * 1000)
redis.call('SET', KEYS[1], 'hc1' .. ARGV[2] .. soft .. ARGV[5] .. string.rep('0', 16) .. token ..
    ARGV[6], 'PX', ARGV[4])
redis.call('PUBLISH', ARGV[7], ARGV[8])
return {1, now_text}
