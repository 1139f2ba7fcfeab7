-- SPDX-License-Identifier: Apache-2.0
-- The generic cell rate algorithm: token bucket, leaky bucket and pacing, with one number per key.
--
-- The number is the moment (server time, microseconds) when the bucket will be empty of debt. The
-- debt now, the level, is how far that moment lies ahead. A take adds its cost; it is allowed as
-- long as the level stays within the bound. Nobody has to refill anything: time does.
--
-- `unit` is how many parts a microsecond has, so that any rate is exact: cost, bound, floor and the
-- level are counted in these parts, and a moment between two microseconds is kept as "moment:part".
-- A negative cost gives back. `floor` is a level to charge from at least; see token_blocks.hpp.
-- Answers the level before the charge: the caller knows cost and bound, and so everything else.

local function gcra(key, now, cost, bound, unit, floor)
    cost, unit = tonumber(cost), tonumber(unit or 1)
    local level = 0
    local seen = redis.call('GET', key)
    if seen then
        local moment, part = tonumber(seen), 0
        if not moment then
            moment, part = string.match(seen, '^(%d+):(%d+)$')
            moment = tonumber(moment)
        end
        -- Of these years, unless the server itself believes that it is 1970.
        if not moment or moment > 1e16 or (moment < 1e15 and now > 1e15) then
            return redis.error_reply('WRONGTYPE not the state of a limit')
        end
        level = (moment - now) * unit + part
        if level < 0 then level = 0 end
    end
    if floor and level < tonumber(floor) then level = tonumber(floor) end
    local after = level + cost
    if after < 0 then after = 0 end
    if after < level or (cost > 0 and after <= tonumber(bound)) then
        local moment = now + after
        if unit > 1 then
            local part = after % unit
            moment = string.format('%.0f:%.0f', now + (after - part) / unit, part)
        end
        redis.call('SET', key, moment, 'PX', math.floor(after / unit / 1000) + 1)
    end
    return level
end
