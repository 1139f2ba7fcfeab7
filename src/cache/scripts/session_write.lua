-- SPDX-License-Identifier: Apache-2.0
-- KEYS  1 session
-- ARGV  1 ttl_ms  2 version, or nothing for any  3 how many fields to set  4 most fields
--       then field, value, …, then fields to remove
-- Answers the new version | 0 there is no session | the negative version, if it is another one
-- | 'full'. Not repeatable.

--@include session_touch.lua

local version = redis.call('HGET', KEYS[1], '_version')
if not version then return 0 end
if ARGV[2] ~= '' and ARGV[2] ~= version then return -tonumber(version) end
local sets = tonumber(ARGV[3])
local more = 0
for i = 5, 4 + 2 * sets, 2 do more = more + 1 - redis.call('HEXISTS', KEYS[1], ARGV[i]) end
if redis.call('HLEN', KEYS[1]) + more > tonumber(ARGV[4]) + 4 then return 'full' end
for i = 5, 4 + 2 * sets, 2 do redis.call('HSET', KEYS[1], ARGV[i], ARGV[i + 1]) end
for i = 5 + 2 * sets, #ARGV do redis.call('HDEL', KEYS[1], ARGV[i]) end
touch(KEYS[1], tonumber(ARGV[1]))
return redis.call('HINCRBY', KEYS[1], '_version', 1)
