-- SPDX-License-Identifier: Apache-2.0
-- Takes what is due, for a while: if the taker dies, it is due again.
--
-- KEYS  1 list (see pending_add.lua)
-- ARGV  1 at most so many  2 due again in ms
-- Answers the members.

local seconds_and_rest = redis.call('TIME')
local now = seconds_and_rest[1] * 1000 + math.floor(seconds_and_rest[2] / 1000)
local due = redis.call('ZRANGEBYSCORE', KEYS[1], '-inf', string.format('%.0f', now), 'LIMIT', 0,
    ARGV[1])
for _, member in ipairs(due) do
    redis.call('ZADD', KEYS[1], string.format('%.0f', now + ARGV[2]), member)
end
return due
