-- SPDX-License-Identifier: Apache-2.0
-- Reads what a room has behind an offset, together with where the room is.
--
-- KEYS  1 room  2 history
-- ARGV  1 epoch that the reader knows (empty: none)  2 offset  3 most messages  4 'cursor': up to
--       what was broadcast, 'tail': all  5 1: the reader has seen broadcasts up to the offset, so a
--       cursor below it means that the server lost data  6 an epoch for that case  7 room_age_ms
-- Answers {} (no such room) | {epoch, cursor, tail, floor, last, then for each message  offset
-- class  body}: all that is left between the offset and `last`, and nothing is left up to `floor`.
-- With another epoch than the reader's it reads from where that epoch began.

local known = redis.call('HMGET', KEYS[1], 'epoch', 'tail', 'cursor', 'floor', 'base')
local epoch = known[1]
if not epoch then return {} end
local tail, cursor, floor = tonumber(known[2]), tonumber(known[3]), tonumber(known[4])
local after = tonumber(ARGV[2])

if ARGV[5] == '1' and epoch == ARGV[1] and cursor < after then
    epoch = ARGV[6]
    known[5] = string.format('%d', cursor)
    redis.call('HSET', KEYS[1], 'epoch', epoch, 'base', known[5])
    redis.call('PEXPIRE', KEYS[1], ARGV[7])
end
if redis.call('EXISTS', KEYS[2]) == 0 then floor = math.max(floor, cursor) end
if ARGV[1] ~= '' and ARGV[1] ~= epoch then after = math.max(floor, tonumber(known[5] or 0)) end

local upto = ARGV[4] == 'tail' and tail or cursor
local answer = {epoch, cursor, tail, floor, math.max(upto, after)}
local most = tonumber(ARGV[3])
if upto <= after or most == 0 then return answer end
local found = redis.call('XRANGE', KEYS[2], string.format('(%d-0', after),
                         string.format('%d-0', upto), 'COUNT', most)
if #found == most then answer[5] = tonumber(string.match(found[#found][1], '^%d+')) end
for _, entry in ipairs(found) do
    local class, body
    for i = 1, #entry[2], 2 do
        if entry[2][i] == 'body' then body = entry[2][i + 1]
        elseif entry[2][i] == 'class' then class = entry[2][i + 1] end
    end
    answer[#answer + 1] = tonumber(string.match(entry[1], '^%d+'))
    answer[#answer + 1] = class
    answer[#answer + 1] = body
end
return answer
