-- SPDX-License-Identifier: Apache-2.0
-- The waiting line of one name, and the hand-over from a holder that is gone to the next in line.
-- Included by the scripts that need it; expects the locals lock, line, waiters, counter, and boot,
-- which is nil unless every grant must be careful (see boot.lua).
--
--   lock     string: "owner:" or "owner:fence@since" (server ms, only for people), and a '+' behind
--            either while somebody waits
--   line     sorted set: owner -> ticket (who came first)
--   waiters  hash: owner -> "beat claim spare channel": until when its place is kept (server
--            ms), for how long a hand-over stays its own unheard (ms; 0: do not hand over, tell it
--            to come and ask), fences to reserve, where to tell it
--
-- A marked lock ('+') stays for `slack` longer than its lease runs, and a marked lock without an
-- owner is free: so while somebody waits the key exists, and a plain SET NX, which asks nothing
-- else, cannot overtake the line. Line and waiters live as long as their youngest place. Server
-- time alone decides.

local slack = 3000

local clock
local function server_time()
    if not clock then
        local t = redis.call('TIME')
        clock = t[1] * 1000000 + t[2]
    end
    return clock
end

local function digits(number) return string.format('%.0f', number) end

-- Draws the next fence and `spare` more after it. A counter that is behind the server's clock by
-- more than any counter could be was lost: it goes on from the clock, which is past all it ever
-- gave. Where no connection tells of a failover, every draw looks at the clock.
local function draw_fence(spare)
    local top = redis.call('INCRBY', counter, 1 + spare)
    if boot or top < 1600000000000000 then
        local least = server_time() + spare
        if top < least then
            top = least
            redis.call('SET', counter, digits(top), 'PX', 604800000)
        end
    end
    return top - spare
end

local function hold(who, fence, ms, waiting)
    local value = who .. ':' .. digits(fence) .. '@' .. digits(math.floor(server_time() / 1000))
    if waiting > 0 then
        redis.call('SET', lock, value .. '+', 'PX', ms + slack)
    else
        redis.call('SET', lock, value, 'PX', ms)
    end
end

local function forget(who)
    redis.call('ZREM', line, who)
    redis.call('HDEL', waiters, who)
end

-- How many heard it. A sharded channel starts with its hash tag.
local function tell(channel, text)
    local verb = string.sub(channel, 1, 1) == '{' and 'SPUBLISH' or 'PUBLISH'
    return redis.call(verb, channel, text)
end

-- Leaves the lock free for those in line alone; they look within a second.
local function keep_for_line() redis.call('SET', lock, '+', 'PX', slack) end

-- Requires: the server is not in quarantine.
-- Gives the free lock to the first in line that lives. `me` is the caller, if it stands in line
-- itself. Answers who has it now; '' if it was left free for the line; false if there is nobody. A
-- waiter whose place ran out is dropped. One that nobody hears for keeps its place (its connection
-- may be coming back) but is passed over.
local function hand_over(now_us, me)
    local rank = 0
    while true do
        local next = redis.call('ZRANGE', line, rank, rank + 1)
        local who = next[1]
        if not who then break end
        if who == me then return me end
        local place = redis.call('HGET', waiters, who)
        local beat, claim, spare, channel = string.match(place or '', '^(%d+) (%d+) (%d+) (.*)$')
        if not beat or tonumber(beat) * 1000 < now_us then
            forget(who)
        elseif claim == '0' then
            if tell(channel, who .. ' 0 0') > 0 then
                keep_for_line()
                return ''
            end
            rank = rank + 1
        else
            local fence = draw_fence(tonumber(spare))
            hold(who, fence, tonumber(claim), rank + #next - 1)
            if tell(channel, who .. ' ' .. digits(fence) .. ' ' .. claim) > 0 then
                forget(who)
                return who
            end
            rank = rank + 1
        end
    end
    if rank > 0 then
        keep_for_line()
    else
        redis.call('DEL', lock)
    end
    return false
end
