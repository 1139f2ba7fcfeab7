-- SPDX-License-Identifier: Apache-2.0
-- Ends several leases, each if nobody waits for it: as release_free.lua does for one, in two calls.
--
-- KEYS  the locks
-- ARGV  for each lock: its owner and ':hf:'
-- Answers a digit for each, as release_free.lua: 1 released | 0 it was not the owner's (any more) |
--         2 somebody waits, nothing was done: release.lua is needed.

local held = redis.call('MGET', unpack(KEYS))
local said, free = {}, {}
for i, owner in ipairs(ARGV) do
    local value = held[i]
    if value == owner then  -- as it was taken by the fast path
        said[i] = '1'
    elseif not value or string.sub(value, 1, #owner) ~= owner then
        said[i] = '0'
    else
        said[i] = string.sub(value, -1) == '+' and '2' or '1'
    end
    if said[i] == '1' then free[#free + 1] = KEYS[i] end
end
if #free > 0 then redis.call('DEL', unpack(free)) end
return table.concat(said)
