-- SPDX-License-Identifier: Apache-2.0
-- Looks at a room: where it is, and whether it may be broadcast now.
--
-- KEYS  1 cooldown  2 room  3 comets  4 history
-- Answers {what PTTL says of the cooldown, epoch, tail, cursor, floor, fence, rate, viewers,
-- comets, offset of the oldest message that is kept}.
-- Reads only.

local clock = redis.call('TIME')
local now = clock[1] * 1000 + math.floor(clock[2] / 1000)
local known = redis.call('HMGET', KEYS[2], 'epoch', 'tail', 'cursor', 'floor', 'fence', 'second',
                         'count', 'before')
local viewers, living = 0, 0
local comets = redis.call('HGETALL', KEYS[3])
for i = 1, #comets, 2 do
    local here, ends = string.match(comets[i + 1], '^(%d+) (%d+)$')
    if here and tonumber(ends) > now then
        viewers = viewers + tonumber(here)
        living = living + 1
    end
end
local second, rate = math.floor(now / 1000), 0
local last_second = tonumber(known[6] or 0)
if last_second == second then
    rate = tonumber(known[8])
    if rate == 0 then rate = tonumber(known[7]) end
elseif last_second == second - 1 then
    rate = tonumber(known[7])
end
local kept = redis.call('XRANGE', KEYS[4], '-', '+', 'COUNT', 1)[1]
return {redis.call('PTTL', KEYS[1]), known[1] or '', tonumber(known[2] or 0),
        tonumber(known[3] or 0), tonumber(known[4] or 0), known[5] or '0', rate, viewers, living,
        kept and tonumber(string.match(kept[1], '^%d+')) or 0}
