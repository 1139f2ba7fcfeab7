-- SPDX-License-Identifier: Apache-2.0
-- Counts arrivals down, and tells those who wait when the last one has come. The first caller makes
-- the latch.
--
-- KEYS  1 latch
-- ARGV  1 count  2 life_ms  3 how many arrive (0: only looks)  4 token of this arrival  5 channel
-- Answers {1, missing} | {-1, the count it was made with} | {-2, missing} more than are missing;
--         refused, nothing was touched. Repeatable: a token counts once.
--
--   latch    hash: count, left, and for each arrival its token -> how many

local known = redis.call('HMGET', KEYS[1], 'count', 'left')
if known[1] and known[1] ~= ARGV[1] then return {-1, tonumber(known[1])} end
local left = tonumber(known[2] or ARGV[1])
local arriving = tonumber(ARGV[3])

if arriving > 0 and redis.call('HEXISTS', KEYS[1], ARGV[4]) == 0 then
    if arriving > left then return {-2, left} end
    left = left - arriving
    redis.call('HSET', KEYS[1], 'count', ARGV[1], 'left', left, ARGV[4], arriving)
    if left == 0 then redis.call('PUBLISH', ARGV[5], 'open') end
elseif not known[1] then
    redis.call('HSET', KEYS[1], 'count', ARGV[1], 'left', left)
end
redis.call('PEXPIRE', KEYS[1], ARGV[2])
return {1, left}
