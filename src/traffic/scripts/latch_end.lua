-- SPDX-License-Identifier: Apache-2.0
-- Ends the round of a latch: begins the next one, or removes the latch. Those who wait are told.
--
-- KEYS  1 latch
-- ARGV  1 token of this call; names the new round  2 count of the new round, 0 to remove the latch
--       3 life_ms  4 channel
-- Answers 1, or 0 if there was nothing to remove. Repeatable: a token counts once.
--
-- The fields are those of latch.lua. An open latch that ends may still be waited for by someone who
-- has not looked since it opened: so it is remembered that it had opened.

local kept_ms = 10000
local known = redis.call('HMGET', KEYS[1], 'left', 'round', 'gone', 'removed')
local left, round, gone, removed = known[1], known[2], known[3], known[4]
if not round and redis.call('EXISTS', KEYS[1]) == 1 then
    return redis.error_reply('WRONGTYPE not a latch')
end

if ARGV[2] == '0' then
    if removed == ARGV[1] then return 1 end
    if not left or gone then return 0 end
    redis.call('HSET', KEYS[1], 'gone', 1, 'removed', ARGV[1])
    redis.call('PEXPIRE', KEYS[1], kept_ms)
elseif round ~= ARGV[1] then
    redis.call('DEL', KEYS[1])
    redis.call('HSET', KEYS[1], 'count', ARGV[2], 'left', ARGV[2], 'round', ARGV[1])
    if left == '0' then redis.call('HSET', KEYS[1], 'last', round) end
    if removed then redis.call('HSET', KEYS[1], 'removed', removed) end
    redis.call('PEXPIRE', KEYS[1], ARGV[3])
end
redis.call('PUBLISH', ARGV[4], 'ended')
return 1
