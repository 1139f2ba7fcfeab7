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
        said[i] = 'code.released'
    elseif not value or string.sub(value, 1, #owner) ~= owner then
        said[i] = 'code.not_held'
    else
        said[i] = string.sub(value, -1) == '+' and 'code.contended' or 'code.released'
    end
    if said[i] == 'code.released' then free[#free + 1] = KEYS[i] end
end
if #free > 0 then redis.call('DEL', unpack(free)) end
return table.concat(said)
