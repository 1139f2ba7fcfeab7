-- SPDX-License-Identifier: Apache-2.0
-- The waiting line of one name, and the fences. Included by the scripts that need it; expects the
-- locals lock, line, waiters, counter, and boot, which is nil unless every grant must be careful
-- (see boot.lua).
--
--   line             sorted set: owner -> ticket (who came first)
--   waiters ':' who  string, gone when its place is not kept any more: "claim spare want channel":
--                    for how long a handoff stays its own unheard (ms; 0: do not hand off, tell
--                    it to come and ask), fences to reserve, what it wants ("x1/1" exclusively,
--                    "s1/1" shared, "p2/5" two permits of five), where to tell it
--
-- One line for all kinds. A marked lock ('+' behind its value) stays for `slack` longer than its
-- lease runs, and a marked lock without a holder is free: so while somebody waits the key exists,
-- and a plain SET NX, which asks nothing else, cannot overtake the queue. A lock that an operator
-- made persistent (PTTL -1) is held until its holder renews or ends it, marked or not. The queue
-- lives as long as its youngest place. Server time alone decides.

local slack = constant.slack_ms

-- In microseconds, always the same within a script; as a text and as a number.
local clock
local function time_text()
    if not clock then
        local t = redis.call('TIME')
        clock = t[1] .. string.sub('00000' .. t[2], -6)
    end
    return clock
end
local function server_time() return tonumber(time_text()) end

-- Whatever makes a text of a number takes a server that has just woken up 10 us and more, as long
-- as several commands: what is run often keeps the texts that it is given.
local function digits(number) return string.format('%.0f', number) end

-- Draws the next fence and `spare` more after it. A counter that is behind the server's clock by
-- more than any counter could be was lost: it goes on from the clock, which is past all it ever
-- gave. Where no connection tells of a failover, every draw looks at the clock.
local function draw_fence(spare)
    local top = redis.call('INCRBY', counter, 1 + spare)
    if boot or top < constant.least_fence then
        local least = server_time() + spare
        if top < least then
            top = least
            redis.call('SET', counter, digits(top), 'PX', constant.counter_life_ms)
        end
    end
    return top - spare
end

local function waiter_key(who) return waiters .. ':' .. who end

local function forget(who)
    redis.call('ZREM', line, who)
    redis.call('DEL', waiter_key(who))
end

-- How many heard it. A sharded channel starts with its hash tag.
local function tell(channel, text)
    local verb = string.sub(channel, 1, 1) == '{' and 'SPUBLISH' or 'PUBLISH'
    return redis.call(verb, channel, text)
end
