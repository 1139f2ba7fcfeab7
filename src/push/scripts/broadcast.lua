-- SPDX-License-Identifier: Apache-2.0
-- Broadcasts what a room has behind its cursor: one frame, the cursor, the cooldown and the
-- acknowledgements, all or nothing.
--
-- KEYS  1 cooldown  2 room  3 history  4 queue  5 comets  6 channel
-- ARGV  1 fence  2 epoch  3 mode  4 'first' post or 'all'  5 first and 6 last offset of the entry
--       7 cooldown_ms (0: none)  8 most messages  9 most bytes  10 PUBLISH or SPUBLISH  11 group
--       12 history_age_ms  13 room_age_ms  14 1: goes on, whatever the cooldown says
--       then for each queue entry to acknowledge  id  last
-- Answers {what, cursor, tail, count, shed, viewers, waited_ms}; what is 'sent', 'nothing' (all of
-- it was broadcast before), 'fenced' (a later holder was here), 'gone' (another epoch) or 'cooling'
-- (another holder has broadcast since this one looked; count is what PTTL says).
-- Repeatable: what was sent is behind the cursor.

local room = KEYS[2]
local known = redis.call('HMGET', room, 'epoch', 'tail', 'cursor', 'fence')
local epoch, tail, cursor = known[1], tonumber(known[2] or 0), tonumber(known[3] or 0)

local function acknowledge(upto)
    local done = {}
    for i = 15, #ARGV, 2 do
        if tonumber(ARGV[i + 1]) <= upto then done[#done + 1] = ARGV[i] end
    end
    for from = 1, #done, 1000 do
        local till = math.min(from + 999, #done)
        redis.call('XACK', KEYS[4], ARGV[11], unpack(done, from, till))
        redis.call('XDEL', KEYS[4], unpack(done, from, till))
    end
end

if not epoch or epoch ~= ARGV[2] then return {'gone', cursor, tail, 0, 0, 0, 0} end
if tonumber(known[4] or 0) > tonumber(ARGV[1]) then return {'fenced', cursor, tail, 0, 0, 0, 0} end

local mode = ARGV[3]
if mode ~= 'none' and ARGV[14] ~= '1' then
    local left = redis.call('PTTL', KEYS[1])
    if left ~= -2 then return {'cooling', cursor, tail, left, 0, 0, 0} end
end
local upto = tail
if mode == 'drop' then
    upto = math.min(tonumber(ARGV[6]), tail)
elseif ARGV[4] == 'first' then
    local behind = string.format('(%d-0', cursor)
    local next_one = redis.call('XRANGE', KEYS[3], behind, '+', 'COUNT', 1)[1]
    if next_one then
        for i = 1, #next_one[2], 2 do
            if next_one[2][i] == 'post' then upto = math.min(tonumber(next_one[2][i + 1]), tail) end
        end
    end
end
if upto <= cursor then
    acknowledge(cursor)
    return {'nothing', cursor, tail, 0, 0, 0, 0}
end

local clock = redis.call('TIME')
local now = clock[1] * 1000 + math.floor(clock[2] / 1000)
local most, room_left = tonumber(ARGV[8]), tonumber(ARGV[9])
local found = redis.call('XRANGE', KEYS[3], string.format('(%d-0', cursor),
                         string.format('%d-0', upto), 'COUNT', most)
local lines, shed_ids, last, waited = {''}, {}, upto, 0
if #found == most then last = tonumber(string.match(found[#found][1], '^%d+')) end
for n, entry in ipairs(found) do
    local offset = tonumber(string.match(entry[1], '^%d+'))
    local body, class, at
    for i = 1, #entry[2], 2 do
        local field, value = entry[2][i], entry[2][i + 1]
        if field == 'body' then body = value elseif field == 'class' then class = value
        elseif field == 'at' then at = tonumber(value) end
    end
    local wanted = class == '2' or mode == 'coalesce' or mode == 'none'
        or (mode == 'latest' and n == #found)
        or (mode == 'drop' and offset >= tonumber(ARGV[5]))
    if wanted then
        room_left = room_left - #body
        if room_left < 0 and #lines > 1 then
            last = offset - 1
            break
        end
        lines[#lines + 1] = string.format('%d %s %s', offset, class, body)
        waited = math.max(waited, now - at)
    else
        shed_ids[#shed_ids + 1] = entry[1]
    end
end
for _, id in ipairs(shed_ids) do redis.call('XDEL', KEYS[3], id) end

local count = #lines - 1
lines[1] = string.format('hf1 %s %d %d', epoch, cursor + 1, last)
local shed = last - cursor - count
redis.call(ARGV[10], KEYS[6], table.concat(lines, '\n'))
redis.call('HSET', room, 'cursor', string.format('%d', last), 'fence', ARGV[1])
redis.call('PEXPIRE', room, ARGV[13])
redis.call('PEXPIRE', KEYS[3], last == tail and ARGV[12] or ARGV[13])
if ARGV[7] ~= '0' then redis.call('SET', KEYS[1], '1', 'PX', ARGV[7]) end
acknowledge(last)

-- Messages that are too old go, if they were broadcast.
local keep_from = 0
repeat
    local from = keep_from == 0 and '-' or string.format('(%d-0', keep_from)
    local oldest = redis.call('XRANGE', KEYS[3], from, '+', 'COUNT', 50)
    local some = false
    for _, entry in ipairs(oldest) do
        local offset = tonumber(string.match(entry[1], '^%d+'))
        local at = now
        for i = 1, #entry[2], 2 do
            if entry[2][i] == 'at' then at = tonumber(entry[2][i + 1]) end
        end
        some = offset <= last and at < now - tonumber(ARGV[12])
        if not some then break end
        keep_from = offset
    end
until not some
if keep_from > 0 then
    redis.call('XTRIM', KEYS[3], 'MINID', string.format('%d-0', keep_from + 1))
    redis.call('HSET', room, 'floor', string.format('%d', keep_from))
end

local viewers = 0
local comets = redis.call('HGETALL', KEYS[5])
for i = 1, #comets, 2 do
    local here, ends = string.match(comets[i + 1], '^(%d+) (%d+)$')
    if here and tonumber(ends) > now then viewers = viewers + tonumber(here) end
end
return {'sent', last, tail, count, shed, viewers, waited}
