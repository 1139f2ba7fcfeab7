-- SPDX-License-Identifier: Apache-2.0
-- Adds players to a segment, or removes them.
--
-- KEYS  1 players (sorted set of stamp:member)  2 scores
-- ARGV  1 add, remove  2 dense: 1 or 0  3 life_ms  4 … score, entry, …
-- Answers how many are in it, ours included | -1 there is no such segment, or no longer under this
-- version. Repeatable.

--@include board_scores.lua
--@include board_scores_remove.lua

if redis.call('EXISTS', KEYS[1]) == 0 then return -1 end
for i = 4, #ARGV, 2 do
    if ARGV[1] == 'add' then
        add_player(KEYS[1], KEYS[2], ARGV[i], ARGV[i + 1], ARGV[2])
    else
        remove_player(KEYS[1], KEYS[2], ARGV[i], ARGV[i + 1], ARGV[2])
    end
end
redis.call('PEXPIRE', KEYS[1], ARGV[3])
if ARGV[2] == '1' then redis.call('PEXPIRE', KEYS[2], ARGV[3]) end
return redis.call('ZCARD', KEYS[1])
