-- SPDX-License-Identifier: Apache-2.0
-- Replaces a board's map, if it is still the one that was read.
--
-- KEYS  1 map
-- ARGV  1 the map as it was read, or nothing  2 the new one  3 life_ms
-- Answers 1 | 0 it is another one by now. Repeatable.

local text = redis.call('GET', KEYS[1]) or ''
if text == ARGV[2] then return 1 end
if text ~= ARGV[1] then return 0 end
redis.call('SET', KEYS[1], ARGV[2], 'PX', ARGV[3])
return 1
