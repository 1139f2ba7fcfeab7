-- SPDX-License-Identifier: Apache-2.0
-- Counts arrivals down, and tells those who wait when the last one has come. The first caller makes
-- the latch.
--
-- KEYS  1 latch
-- ARGV  1 count  2 life_ms (0: its life stays as it is)  3 how many arrive (0: only looks)
--       4 token of this arrival; also names the round, if this call makes it  5 channel
--       6 the round that is waited for, '' for whichever there is
-- Answers {1, missing, round} | {-1, the count it was made with} | {-2, missing} more than are
--         missing | {-3, 0} the round that is waited for was reset, removed or forgotten; refused,
--         nothing was touched. Repeatable: a token counts once.
--
--   latch    hash: count, left, round, and for each arrival its token -> how many
--            last       the round before, if it had opened
--            gone       1: it was removed, and is kept for those who still wait for its round
--            removed    the token of the last removal

local known = redis.call('HMGET', KEYS[1], 'count', 'left', 'round', 'gone', 'last', 'removed')
local count, left, round, gone, last = known[1], known[2], known[3], known[4], known[5]
if not round and redis.call('EXISTS', KEYS[1]) == 1 then
    return redis.error_reply('WRONGTYPE not a latch')
end

if ARGV[6] ~= '' then
    if last == ARGV[6] then return {code.latch_stands, 0, last} end
    if round ~= ARGV[6] or (gone and left ~= '0') then return {code.round_over, 0} end
elseif gone then
    redis.call('DEL', KEYS[1])
    redis.call('HSET', KEYS[1], 'removed', known[6])
    if left == '0' then redis.call('HSET', KEYS[1], 'last', round) end
    count, left, round, gone = false, false, false, false
end
if count and count ~= ARGV[1] then return {code.other_count, tonumber(count)} end
left = tonumber(left or ARGV[1])
round = round or ARGV[4]
local arriving = tonumber(ARGV[3])

if arriving > 0 and redis.call('HEXISTS', KEYS[1], ARGV[4]) == 0 then
    if arriving > left then return {code.too_many, left} end
    left = left - arriving
    redis.call('HSET', KEYS[1], 'count', ARGV[1], 'left', left, 'round', round, ARGV[4], arriving)
    if left == 0 then redis.call('PUBLISH', ARGV[5], 'open') end
elseif not count then
    redis.call('HSET', KEYS[1], 'count', ARGV[1], 'left', left, 'round', round)
end
if ARGV[2] ~= '0' and not gone then redis.call('PEXPIRE', KEYS[1], ARGV[2]) end
return {code.latch_stands, left, round}
