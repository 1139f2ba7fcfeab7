-- SPDX-License-Identifier: Apache-2.0
-- Second step of a move between segments: puts the players into the other one.
--
-- KEYS  1 players  2 players, next version  3 scores  4 scores, next version
-- ARGV  1 dense: 1 or 0  2 life_ms  3 … entry, score, …
-- Answers 1 | 0 it was done before. Repeatable.

--@include board_scores.lua

if redis.call('EXISTS', KEYS[1]) == 0 then return 0 end
for i = 3, #ARGV, 2 do add_player(KEYS[1], KEYS[3], ARGV[i + 1], ARGV[i], ARGV[1]) end
redis.call('RENAME', KEYS[1], KEYS[2])
redis.call('PEXPIRE', KEYS[2], ARGV[2])
if redis.call('EXISTS', KEYS[3]) == 1 then
    redis.call('RENAME', KEYS[3], KEYS[4])
    redis.call('PEXPIRE', KEYS[4], ARGV[2])
end
return 1
