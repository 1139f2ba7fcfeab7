-- SPDX-License-Identifier: Apache-2.0
-- Writes a player of a board that is one sorted set.
--
-- KEYS  1 players (sorted set of stamp:member)  2 members (hash of stamp:score)  3 scores
-- ARGV  1 member  2 how: set, best, increase, remove  3 score  4 life_ms  5 dense: 1 or 0
-- Answers {1 changed | 0 not, the score that counts now} | {-1} the score would not be finite.
-- Repeatable, but for increase.

--@include board_stamp.lua
--@include board_scores.lua
--@include board_scores_remove.lua

local member, how, dense = ARGV[1], ARGV[2], ARGV[5]
local kept = redis.call('HGET', KEYS[2], member)
local entry = kept and string.sub(kept, 1, 17) .. member
local score = kept and string.sub(kept, 18)
if how == 'remove' then
    if not score then return {0, '0'} end
    remove_player(KEYS[1], KEYS[3], score, entry, dense)
    redis.call('HDEL', KEYS[2], member)
    return {1, '0'}
end
local wanted = next_score(how, score and tonumber(score), tonumber(ARGV[3]))
if not wanted or (score and wanted == tonumber(score)) then return {0, score} end
if wanted ~= wanted or wanted == math.huge or wanted == -math.huge then return {-1} end
if score then remove_player(KEYS[1], KEYS[3], score, entry, dense) end
local stamp = next_stamp(kept and tonumber(string.sub(kept, 1, 16)))
local text = how == 'increase' and string.format('%.17g', wanted) or ARGV[3]
add_player(KEYS[1], KEYS[3], text, stamp .. ':' .. member, dense)
redis.call('HSET', KEYS[2], member, stamp .. ':' .. text)
for i = 1, 3 do redis.call('PEXPIRE', KEYS[i], ARGV[4]) end
return {1, text}
