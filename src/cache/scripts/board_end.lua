-- SPDX-License-Identifier: Apache-2.0
-- Ends a write: its entry is in its segment, and these old ones are gone from theirs.
--
-- KEYS  1 members  2 pending
-- ARGV  1 member  2 the write's entry  3 … entries that are gone, as they stand in the record
-- Answers 1 | 0 a later write came: the entry must be removed again. Repeatable.

--@include board_record.lua
--@include board_record_write.lua

local gone = {}
for i = 3, #ARGV do gone[ARGV[i]] = true end
local entries = read_record(redis.call('HGET', KEYS[1], ARGV[1]))
local last = entries[1] == ARGV[2] or entries[1] == ARGV[2] .. '*'
local left = {}
for i, entry in ipairs(entries) do
    if i == 1 then
        left[1] = last and ARGV[2] or entry
    elseif not gone[entry] then
        left[#left + 1] = entry
    end
end
if not entries[1] then return string.sub(ARGV[2], 1, 2) == '-:' and 1 or 0 end
write_record(KEYS[1], KEYS[2], ARGV[1], left)
return last and 1 or 0
