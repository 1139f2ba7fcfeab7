-- SPDX-License-Identifier: Apache-2.0
-- Adds a message to the stream of a reliable channel, and tells its subscribers.
--
-- An offset is 'epoch-number': the stream's first message is number 1 of an epoch, which is the
-- time when the stream began (server ms), and each next one has the next number. So a reader sees
-- what it missed, and a stream that began anew is behind the old one.
--
-- KEYS  1 stream, also the name of the channel
-- ARGV  1 message  2 how many to keep  3 life_ms  4 PUBLISH or SPUBLISH
-- Answers {offset, receivers}. Not repeatable.

local last = redis.call('XREVRANGE', KEYS[1], '+', '-', 'COUNT', 1)[1]
local epoch, number
if last then
    epoch, number = string.match(last[1], '^(%d+)-(%d+)$')
    number = number + 1
else
    local seconds_and_rest = redis.call('TIME')
    epoch = string.format('%.0f',
        seconds_and_rest[1] * 1000 + math.floor(seconds_and_rest[2] / 1000))
    number = 1
end
local offset = epoch .. '-' .. string.format('%.0f', number)
redis.call('XADD', KEYS[1], 'MAXLEN', ARGV[2], offset, 'm', ARGV[1])
redis.call('PEXPIRE', KEYS[1], ARGV[3])
return {offset, redis.call(ARGV[4], KEYS[1], offset)}
