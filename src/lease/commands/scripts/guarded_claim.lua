-- SPDX-License-Identifier: Apache-2.0
-- Shows a fence to a key before it is read: from then on the writes of earlier holders are refused.
--
-- KEYS  1 the value  2 the largest fence that has claimed or written it
-- ARGV  1 fence  2 for how long to remember the fence, ms
-- Answers {1, fence, value} claimed (no third part: there is no value, or it is not a string)
--         | {0, the largest fence} refused, nothing was touched.
-- Repeating it is the same as once.

local largest = tonumber(redis.call('GET', KEYS[2]) or 0)
if tonumber(ARGV[1]) < largest then return {code.fence_too_small, largest} end
redis.call('SET', KEYS[2], ARGV[1], 'PX', ARGV[2])
if redis.call('TYPE', KEYS[1]).ok ~= 'string' then return {code.fence_taken, tonumber(ARGV[1])} end
return {code.fence_taken, tonumber(ARGV[1]), redis.call('GET', KEYS[1])}
