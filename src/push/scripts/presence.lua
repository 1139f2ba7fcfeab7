-- SPDX-License-Identifier: Apache-2.0
-- Writes down how many viewers a Comet has in a room, and takes away what Comets that died left.
--
-- KEYS  1 comets  2 connections
-- ARGV  1 the Comet's id  2 its viewers  3 life_ms
-- Answers how many viewers the room has.  Repeatable.

local clock = redis.call('TIME')
local now = clock[1] * 1000 + math.floor(clock[2] / 1000)
if ARGV[2] == '0' then
    redis.call('HDEL', KEYS[1], ARGV[1])
else
    redis.call('HSET', KEYS[1], ARGV[1], string.format('%s %d', ARGV[2], now + ARGV[3]))
end

local viewers, dead = 0, {}
local comets = redis.call('HGETALL', KEYS[1])
for i = 1, #comets, 2 do
    local here, ends = string.match(comets[i + 1], '^(%d+) (%d+)$')
    if here and tonumber(ends) > now then
        viewers = viewers + tonumber(here)
    else
        dead[comets[i]] = true
        redis.call('HDEL', KEYS[1], comets[i])
    end
end
if next(dead) then
    for _, connection in ipairs(redis.call('SMEMBERS', KEYS[2])) do
        local comet = string.match(connection, '^(.*)%-')
        if dead[comet] then redis.call('SREM', KEYS[2], connection) end
    end
end
redis.call('PEXPIRE', KEYS[1], ARGV[3])
redis.call('PEXPIRE', KEYS[2], ARGV[3])
return viewers
