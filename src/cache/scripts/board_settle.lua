-- SPDX-License-Identifier: Apache-2.0
-- Cleans a record that another process has settled: its first entry is in its segment, the others
-- are in none.
--
-- KEYS  1 members  2 pending
-- ARGV  1 member  2 the record as it was seen
-- Answers 1 | 0 the record is another one by now. Repeatable.

--@include board_record.lua
--@include board_record_write.lua

local text = redis.call('HGET', KEYS[1], ARGV[1])
if not text then
    redis.call('ZREM', KEYS[2], ARGV[1])
    return 1
end
if text ~= ARGV[2] then return 0 end
local first = string.gsub(read_record(text)[1], '%*', '')
write_record(KEYS[1], KEYS[2], ARGV[1], {first})
return 1
