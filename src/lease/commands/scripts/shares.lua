-- SPDX-License-Identifier: Apache-2.0
-- Those who hold a name beside each other (holders.lua), for whoever lists the names. Changes
-- nothing.
--
-- KEYS  1 holders  2 what the keys of notes begin with
-- ARGV  1 most
-- Answers how many permits they hold; then for each one, at most that many: client id, milliseconds
-- left, permits, fence, since (server ms; 0: not known), note ('': none).

local time = redis.call('TIME')
local now = time[1] * 1000 + math.ceil(time[2] / 1000)
local all = redis.call('HGETALL', KEYS[1])
local most = 6 * tonumber(ARGV[1])
local found = {0}
for i = 1, #all, 2 do
    local ends, permits, fence, since = string.match(all[i + 1], '^(%d+) (%d+) (%d+) (%d+)$')
    local alive = tonumber(ends) >= now
    if alive then found[1] = found[1] + tonumber(permits) end
    if alive and #found < most then
        local at = #found
        found[at + 1] = string.sub(all[i], 1, 12)
        found[at + 2] = tonumber(ends) - now
        found[at + 3] = tonumber(permits)
        found[at + 4] = tonumber(fence)
        found[at + 5] = tonumber(since)
        found[at + 6] = redis.call('GET', KEYS[2] .. ':' .. all[i]) or ''
    end
end
return found
