-- SPDX-License-Identifier: Apache-2.0
-- Begins a write of a player of a segmented board: decides the new entry and notes the old ones,
-- which the writer then removes from their segments.
--
-- KEYS  1 members (hash of records, see board_record.lua)  2 pending (sorted set: by due time)
-- ARGV  1 member  2 how: set, best, increase, remove  3 score  4 life_ms  5 due again in ms
--       6 most old entries
-- Answers {1, new entry, old entry, …} | {0, score} nothing changes | {-1} too many old entries
-- | {-2} the score would not be finite. Not repeatable.

--@include board_record.lua
--@include board_stamp.lua

local how = ARGV[2]
local entries = read_record(redis.call('HGET', KEYS[1], ARGV[1]))
local text, stamp = string.match(entries[1] or '', '^([^:]+):(%d+)')
local score = text and text ~= '-' and tonumber(text) or nil
if how == 'remove' then
    if not score then return {0, '0'} end
    text = '-'
else
    local wanted = next_score(how, score, tonumber(ARGV[3]))
    if not wanted or wanted == score then return {0, text} end
    if wanted ~= wanted or wanted == math.huge or wanted == -math.huge then return {-2} end
    text = how == 'increase' and string.format('%.17g', wanted) or ARGV[3]
end
local made = text .. ':' .. next_stamp(stamp and tonumber(stamp))
local answer = {1, made}
local record = {made .. '*'}
for i, entry in ipairs(entries) do
    if i > 1 or score then
        record[#record + 1] = entry
        answer[#answer + 1] = entry
    end
end
if #record - 1 > tonumber(ARGV[6]) then return {-1} end
redis.call('HSET', KEYS[1], ARGV[1], table.concat(record, ' '))
local seconds_and_rest = redis.call('TIME')
local now = seconds_and_rest[1] * 1000 + math.floor(seconds_and_rest[2] / 1000)
redis.call('ZADD', KEYS[2], string.format('%.0f', now + ARGV[5]), ARGV[1])
redis.call('PEXPIRE', KEYS[1], ARGV[4])
redis.call('PEXPIRE', KEYS[2], ARGV[4])
return answer
