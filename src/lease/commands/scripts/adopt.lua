-- SPDX-License-Identifier: Apache-2.0
-- Gives a lease another owner, in one step, and makes it run for ttl from now; never shortens it.
-- The fence stays, and so does everybody else who holds the name or waits for it.
--
-- KEYS  1 lock  2 evicted  3 holders
-- ARGV  1 the owner that it had  2 the owner that it gets  3 ttl_ms
-- Answers 1 it is the second owner's now | 0 neither holds it | the words of whoever took it away
--         from the first. Idempotent by both owners.

local lock, holders, from, to, ttl = KEYS[1], KEYS[3], ARGV[1], ARGV[2], tonumber(ARGV[3])
local function lost() return redis.call('HGET', KEYS[2], from) or code.lost end

local held = redis.call('GET', lock) or ''
local slack = string.sub(held, -1) == '+' and constant.slack_ms or 0
local left = redis.call('PTTL', lock)
if held == '' or left <= slack then return lost() end
local wanted = math.max(left, ttl + slack)

local who = string.sub(held, 1, 33)
if who == from .. ':' or who == to .. ':' then
    redis.call('SET', lock, to .. string.sub(held, 33), 'PX', wanted)
    return code.adopted
end
if string.sub(held, 1, 1) ~= ':' then return lost() end

local time = redis.call('TIME')
local now = time[1] * 1000 + math.ceil(time[2] / 1000)
local share = redis.call('HGET', holders, from) or redis.call('HGET', holders, to) or ''
local ends, rest = string.match(share, '^(%d+)( .*)$')
if not ends or tonumber(ends) < now then return lost() end
redis.call('HDEL', holders, from)
redis.call('HSET', holders, to,
    string.format('%.0f', math.max(tonumber(ends), now + ttl)) .. rest)
redis.call('PEXPIRE', lock, wanted)
redis.call('PEXPIRE', holders, wanted)
return code.adopted
