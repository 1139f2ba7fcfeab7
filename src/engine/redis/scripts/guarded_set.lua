-- SPDX-License-Identifier: Apache-2.0
-- Writes a value unless a later holder has written it.
--
-- KEYS  1 the value  2 the largest fence that has written it
-- ARGV  1 fence  2 value  3 ttl_ms, 0 for none  4 for how long to remember the fence, ms
-- Answers {1, fence} written | {0, the largest fence} refused, nothing was touched.
-- Repeating it is the same as once.

local largest = tonumber(redis.call('GET', KEYS[2]) or 0)
if tonumber(ARGV[1]) < largest then return {0, largest} end
if ARGV[3] == '0' then
    redis.call('SET', KEYS[1], ARGV[2])
else
    redis.call('SET', KEYS[1], ARGV[2], 'PX', ARGV[3])
end
redis.call('SET', KEYS[2], ARGV[1], 'PX', ARGV[4])
return {1, tonumber(ARGV[1])}
