-- SPDX-License-Identifier: Apache-2.0
-- A counter and its expiry. The window begins with the first take, and ends with the key. A key
-- lives through the millisecond that it ends in: who is refused waits that much longer.
--
-- No count is negative or above a thousand millions, the largest limit: such a number is somebody
-- else's.
--
-- `op`: nil takes; 'told' takes for a caller that knows when the window ends, and saves the look at
-- it; 'look' only looks; 'give' gives back.
-- Answers {allowed 1|0, used, retry_us, reset_us}, or for 'told' the count alone when allowed.

-- A counter without an end, which another program made, gets one.
local function window_left(key, window_ms)
    local left = redis.call('PTTL', key)
    if left < 0 then
        redis.call('PEXPIRE', key, window_ms)
        left = tonumber(window_ms)
    end
    return left * 1000
end

local function foreign_count() return redis.error_reply('WRONGTYPE not the state of a limit') end

local function fixed_window(key, n, limit, window_ms, op)
    if op == 'look' or op == 'give' then
        local used = tonumber(redis.call('GET', key) or 0)
        if not used or used < 0 or used > 1e9 then return foreign_count() end
        local back = op == 'give' and math.min(used, tonumber(n)) or 0
        if back > 0 then redis.call('DECRBY', key, back) end
        local allowed = op == 'give' or used + n <= tonumber(limit)
        used = used - back
        local left = used > 0 and math.max(redis.call('PTTL', key), 0) * 1000 or 0
        return {allowed and 1 or 0, used, allowed and 0 or left + 1000, left}
    end
    local used = redis.call('INCRBY', key, n)
    if used > tonumber(limit) then
        redis.call('DECRBY', key, n)
        if used - n > 1e9 then return foreign_count() end
        local left = window_left(key, window_ms)
        return {0, used - n, left + 1000, left}
    end
    if used < tonumber(n) then
        redis.call('DECRBY', key, n)
        return foreign_count()
    end
    if used == tonumber(n) then
        redis.call('PEXPIRE', key, window_ms)
        return {1, used, 0, window_ms * 1000}
    end
    if op == 'told' then return used end
    return {1, used, 0, window_left(key, window_ms)}
end
