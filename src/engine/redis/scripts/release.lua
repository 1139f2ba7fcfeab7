-- SPDX-License-Identifier: Apache-2.0
-- Ends the owner's lease, and hands on what is free then to those in line that live.
--
-- KEYS  1 lock  2 line  3 waiters  4 fence counter  5 holders  6 limit  7 evicted  8 boot (only if
--       every grant must be careful)
-- ARGV  1 owner  2 quarantine_ms
-- Answers 1 released | 0 it was not the owner's (any more) | the words of whoever took it away.

local lock, line, waiters, counter = KEYS[1], KEYS[2], KEYS[3], KEYS[4]
local holders, limit, evicted, boot = KEYS[5], KEYS[6], KEYS[7], KEYS[8]
local owner = ARGV[1]

local held = redis.call('GET', lock) or ''
local alone = string.sub(held, 1, #owner + 1) == owner .. ':'
if alone and string.sub(held, -1) ~= '+' then return redis.call('DEL', lock) end
if not alone and string.sub(held, 1, 1) ~= ':' then
    return redis.call('HGET', evicted, owner) or 0
end

--@include line.lua

-- The usual hand-over, from one holder to one: the first in line lives, is heard, and wants it
-- exclusively; without the functions that everything else needs, whose making alone takes longer
-- than most calls. What goes wrong here, goes wrong there again, and is dealt with there.
if alone and not boot and not string.find(held, '^[sp]', #owner + 2) and
    redis.call('PTTL', lock) > slack then
    local first = redis.call('ZRANGE', line, 0, 1)
    local beat, claim, spare, channel = string.match(
        first[1] and redis.call('HGET', waiters, first[1]) or '',
        '^(%d+) (%d+) (%d+) x1/1 (.*)$')
    if beat and claim ~= '0' and tonumber(beat) * 1000 >= server_time() then
        local next, ms, mark = first[1], tonumber(claim), ''
        if first[2] then ms, mark = ms + slack, '+' end
        local drawn, fence = pcall(draw_fence, tonumber(spare))
        fence = drawn and digits(fence)
        if drawn and tell(channel, next .. ' ' .. fence .. ' ' .. claim) > 0 then
            local since = digits(math.ceil(server_time() / 1000))
            redis.call('SET', lock, next .. ':' .. fence .. '@' .. since .. mark, 'PX', ms)
            forget(next)
            return 1
        end
    end
end

--@include boot.lua
--@include holders.lua
--@include hand_over.lua
--@include next.lua

local state = look()
if not drop(state, owner) then return redis.call('HGET', evicted, owner) or 0 end
let_next(state)
return 1
