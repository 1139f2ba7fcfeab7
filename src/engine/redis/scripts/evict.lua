-- SPDX-License-Identifier: Apache-2.0
-- Takes the name from whoever holds it, by an operator's word, and hands it to the next in line
-- that lives. Also from another program: its own compare-and-delete will find nothing.
--
-- KEYS  1 lock  2 line  3 waiters  4 fence counter  5 evicted  6 boot (only if every grant must be
--       careful)
-- ARGV  1 the reason  2 what a client's channel begins with  3 quarantine_ms
-- Answers how many held it: 1 | 0.
-- Not idempotent: a second time it takes the name from the next holder.
--
--   evicted  hash: owner -> the reason. renew.lua and release.lua answer it to the owner; kept for
--            as long as the owner may believe in its lease, and a minute more

local lock, line, waiters, counter = KEYS[1], KEYS[2], KEYS[3], KEYS[4]
local evicted, boot = KEYS[5], KEYS[6]

--@include boot.lua
--@include line.lua
--@include next.lua

local most_remembered = 1000

local held = redis.call('GET', lock)
if not held or held == '+' then return 0 end
local left = redis.call('PTTL', lock)
local ours = string.find(held, '^%x+:%d*@?%d*%+?$') and string.sub(held, 33, 33) == ':'
if ours and string.sub(held, -1) == '+' and left <= slack then return 0 end

-- The reason is a courtesy: a server that is out of memory does without.
if ours then
    local owner = string.sub(held, 1, 32)
    if redis.call('HLEN', evicted) >= most_remembered then redis.call('DEL', evicted) end
    local keep = math.max(left, redis.call('PTTL', evicted) - 60000, 0) + 60000
    redis.pcall('HSET', evicted, owner, ARGV[1])
    redis.call('PEXPIRE', evicted, digits(keep))
    tell(ARGV[2] .. string.sub(owner, 1, 12), owner .. ' evicted ' .. ARGV[1])
end
let_next()
return 1
