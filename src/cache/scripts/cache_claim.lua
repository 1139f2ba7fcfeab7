-- SPDX-License-Identifier: Apache-2.0
-- Takes the lease of an entry, unless it need not be loaded or another one loads it.
--
-- The lease is in the entry. So whatever deletes or replaces the entry voids the lease with it.
--
-- KEYS  1 entry
-- ARGV  1 token  2 lease_ms  3 'stale': only past the soft expiry; 'early': also before it;
--       'force': whatever there is, and whoever loads it
-- Answers {state, server time in us, entry}: state 0 it is fresh | 1 the lease is the caller's; the
-- entry is what was there, or nothing | 2 another one has the lease. Repeatable by its token.

--@include entry_header.lua

local entry = redis.call('GET', KEYS[1])
local now_text = string.format('%.0f', server_now)
local life = tonumber(ARGV[2])
if not entry then
    redis.call('SET', KEYS[1], 'hc1-' .. string.rep('0', 42) .. ARGV[1], 'PX', life)
    return {1, now_text}
end
if string.sub(entry, 1, 3) ~= 'hc1' then
    return redis.error_reply('WRONGTYPE not an entry of a cache')
end
local kind, holder = string.sub(entry, 4, 4), string.sub(entry, 47, 78)
if kind == '-' then
    if holder == ARGV[1] then return {1, now_text} end
    if ARGV[3] ~= 'force' then return {2, now_text, entry} end
    redis.call('SET', KEYS[1], 'hc1-' .. string.rep('0', 42) .. ARGV[1], 'PX', life)
    return {1, now_text}
end
local leased = tonumber(string.sub(entry, 31, 46)) > server_now
if leased and holder == ARGV[1] then return {1, now_text, entry} end
if ARGV[3] ~= 'force' then
    if ARGV[3] == 'stale' and tonumber(string.sub(entry, 5, 20)) > server_now then
        return {0, now_text, entry}
    end
    if leased then return {2, now_text, entry} end
end
redis.call('SETRANGE', KEYS[1], 30, string.format('%016.0f', server_now + life * 1000) .. ARGV[1])
return {1, now_text, entry}
