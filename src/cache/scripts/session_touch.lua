-- SPDX-License-Identifier: Apache-2.0
-- Notes that a session was used, unless that was noted a tenth of the ttl ago or less.

local seconds_and_rest = redis.call('TIME')
local now = seconds_and_rest[1] * 1000 + math.floor(seconds_and_rest[2] / 1000)

local function touch(key, ttl)
    local seen = redis.call('HMGET', key, '_seen', '_until')
    if not seen[1] or not seen[2] then return end
    if now - seen[1] < ttl / 10 then return end
    redis.call('HSET', key, '_seen', string.format('%.0f', now))
    redis.call('PEXPIRE', key, string.format('%.0f', math.min(ttl, seen[2] - now)))
end
