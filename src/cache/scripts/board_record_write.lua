-- SPDX-License-Identifier: Apache-2.0
-- Writes the record, or removes it if nothing is left of it. A clean one is no longer pending.
local function write_record(members, pending, member, entries)
    local text = table.concat(entries, ' ')
    local clean = #entries == 1 and not string.find(text, '*', 1, true)
    if clean then redis.call('ZREM', pending, member) end
    if clean and string.sub(text, 1, 2) == '-:' then
        redis.call('HDEL', members, member)
    else
        redis.call('HSET', members, member, text)
    end
end
