-- SPDX-License-Identifier: Apache-2.0
-- Admits a post: dedup, offsets, history, queue entry and due time, all or nothing.
--
-- KEYS  1 cooldown  2 room  3 history  4 queue  5 rooms, then for each message  its mark, its place
-- ARGV  1 epoch for a room that has none  2 the room's name  3 dedup_ms  4 history length
--       5 history_age_ms  6 room_age_ms  7 longest queue  8 token of this post
--       then for each message  id  class  body
-- Answers {'full'} | {epoch, cooldown_left_ms, then for each message  offset  1 duplicate, 0 new}.
-- Repeatable: a message that the same token has stored is answered as new, with its offset.

local room = KEYS[2]
local messages = (#ARGV - 8) / 3
if redis.call('XLEN', KEYS[4]) >= tonumber(ARGV[7]) then return {'full'} end

local clock = redis.call('TIME')
local now = clock[1] * 1000 + math.floor(clock[2] / 1000)
local known = redis.call('HMGET', room, 'epoch', 'tail', 'cursor', 'floor', 'second', 'count',
                         'before')
local epoch, tail, cursor = known[1], tonumber(known[2] or 0), tonumber(known[3] or 0)
local floor = tonumber(known[4] or 0)
if not epoch then
    epoch, tail, cursor, floor = ARGV[1], 0, 0, 0
    redis.call('DEL', KEYS[3])
    redis.call('HSET', room, 'epoch', epoch, 'tail', 0, 'cursor', 0, 'floor', 0)
end

local answer = {epoch, math.max(redis.call('PTTL', KEYS[1]), 0)}
local first = tail + 1
local fresh, urgent = {}, 0
for i = 1, messages do
    local mark, place = KEYS[4 + 2 * i], KEYS[5 + 2 * i]
    local id = ARGV[6 + 3 * i]
    local offset
    local duplicate = 0
    if redis.call('SET', mark, '1', 'NX', 'PX', ARGV[3]) then
        tail = tail + 1
        offset = tail
        redis.call('SET', place, string.format('%d %s', offset, ARGV[8]), 'PX', ARGV[3])
        fresh[#fresh + 1] = i
        if ARGV[7 + 3 * i] == '2' then urgent = 1 end
    else
        local at, token = string.match(redis.call('GET', place) or '', '^(%d+) (.*)$')
        offset = tonumber(at or 0)
        if token ~= ARGV[8] then
            duplicate = 1
            redis.call('XADD', KEYS[4], '*', 'room', ARGV[2], 'duplicate', id)
        end
    end
    answer[#answer + 1] = offset
    answer[#answer + 1] = duplicate
end
if #fresh == 0 then return answer end

for n, i in ipairs(fresh) do
    redis.call('XADD', KEYS[3], string.format('%d-0', first + n - 1), 'body', ARGV[8 + 3 * i],
               'class', ARGV[7 + 3 * i], 'post', string.format('%d', tail),
               'at', string.format('%d', now))
end
-- What was not broadcast yet is never trimmed.
local keep_from = math.min(tail - tonumber(ARGV[4]), cursor)
if keep_from > floor then
    redis.call('XTRIM', KEYS[3], 'MINID', string.format('%d-0', keep_from + 1))
    floor = keep_from
end
local second = string.format('%d', now / 1000)
local count, before = tonumber(known[6] or 0), tonumber(known[7] or 0)
if known[5] ~= second then
    before = (known[5] and tonumber(known[5]) == tonumber(second) - 1) and count or 0
    count = 0
end
redis.call('HSET', room, 'tail', string.format('%d', tail), 'floor', string.format('%d', floor),
           'second', second, 'count', count + #fresh, 'before', before)
redis.call('PEXPIRE', room, ARGV[6])
redis.call('PEXPIRE', KEYS[3], ARGV[6])
redis.call('ZREMRANGEBYSCORE', KEYS[5], '-inf', string.format('(%d', now - ARGV[6]))
redis.call('ZADD', KEYS[5], string.format('%d', now), ARGV[2])
redis.call('PEXPIRE', KEYS[5], ARGV[6])
redis.call('XADD', KEYS[4], '*', 'room', ARGV[2], 'epoch', epoch,
           'first', string.format('%d', first), 'last', string.format('%d', tail),
           'important', urgent, 'due', string.format('%d', now + answer[2]))
return answer
