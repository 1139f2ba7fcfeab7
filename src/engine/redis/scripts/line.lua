-- SPDX-License-Identifier: Apache-2.0
-- The waiting line of one name, and the hand-over from a holder that is gone to the next in line.
-- Included by the scripts that need it; expects the locals lock, line, waiters, counter.
--
--   line     sorted set: owner -> ticket (who came first)
--   waiters  hash: owner -> "beat claim spare channel": until when its place is kept (server ms), for
--            how long a hand-over stays its own unheard (ms), fences to reserve, where to tell it
--
-- Both live only as long as their youngest place. Server time alone decides.

local function server_time()
    local t = redis.call('TIME')
    return t[1] * 1000000 + t[2]
end

-- Draws the next fence and `spare` more after it. If the counter is behind the server's clock by more
-- than any counter could be, it was lost: it goes on from the clock, which is past all it ever gave.
local function draw_fence(spare)
    local top = redis.call('INCRBY', counter, 1 + spare)
    if top < 1600000000000000 then
        top = server_time() + spare
        redis.call('SET', counter, string.format('%.0f', top), 'PX', 604800000)
    end
    return top - spare
end

local function hold(who, fence, ms)
    redis.call('SET', lock, who .. ':' .. string.format('%.0f', fence), 'PX', ms)
end

local function forget(who)
    redis.call('ZREM', line, who)
    redis.call('HDEL', waiters, who)
end

-- Gives the free lock to the first in line that lives. `me` is the caller, if it stands in line itself.
-- Answers who has it now, or false if there is nobody. A waiter whose place ran out is dropped. One
-- that nobody hears for keeps its place (its connection may be coming back) but is passed over.
local function hand_over(now_us, me)
    local rank = 0
    while true do
        local who = redis.call('ZRANGE', line, rank, rank)[1]
        if not who then return false end
        if who == me then return me end
        local place = redis.call('HGET', waiters, who)
        local beat, claim, spare, channel = string.match(place or '', '^(%d+) (%d+) (%d+) (.*)$')
        if not beat or tonumber(beat) * 1000 < now_us then
            forget(who)
        else
            local fence = draw_fence(tonumber(spare))
            hold(who, fence, claim)
            local told = string.format('%s %.0f %s', who, fence, claim)
            if redis.call('PUBLISH', channel, told) > 0 then
                forget(who)
                return who
            end
            redis.call('DEL', lock)
            rank = rank + 1
        end
    end
end
