-- SPDX-License-Identifier: Apache-2.0
-- First step of a move between segments: takes the players out of their segment.
--
-- What is taken stays in a key beside it until the move is over. The segment gets its next
-- version's key, so that nobody who knows only the old map reads or writes it.
--
-- KEYS  1 players  2 players, next version  3 scores  4 scores, next version  5 taken
-- ARGV  1 least score to take; nothing: all, and the segment is gone  2 life_ms
-- Answers entry, score, …: what was taken, also by an earlier call. Repeatable.

if redis.call('EXISTS', KEYS[1]) == 1 then
    local least = ARGV[1] == '' and '(-inf' or ARGV[1]
    local rows = redis.call('ZRANGEBYSCORE', KEYS[1], least, '+inf', 'WITHSCORES')
    for i = 1, #rows, 2 do redis.call('ZADD', KEYS[5], rows[i + 1], rows[i]) end
    if #rows > 0 then redis.call('PEXPIRE', KEYS[5], ARGV[2]) end
    if ARGV[1] == '' then
        redis.call('DEL', KEYS[1], KEYS[3])
    else
        redis.call('ZREMRANGEBYSCORE', KEYS[1], least, '+inf')
        redis.call('RENAME', KEYS[1], KEYS[2])
        if redis.call('EXISTS', KEYS[3]) == 1 then
            redis.call('ZREMRANGEBYSCORE', KEYS[3], least, '+inf')
            redis.call('RENAME', KEYS[3], KEYS[4])
        end
    end
end
return redis.call('ZRANGE', KEYS[5], 0, -1, 'WITHSCORES')
