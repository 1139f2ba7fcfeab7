-- SPDX-License-Identifier: Apache-2.0
-- KEYS  1 state
-- ARGV  1 cost (negative gives back, 0 only looks)  2 bound
--       [3 parts of a microsecond  [4 floor  [5 until: what comes later (server time, us) looks]]]
-- Answers the level before the charge, an integer; with a floor {level, server time in us}.

--@include server_time.lua

-- A plain take at a whole rate, which nearly every one is. It says what gcra() says, without its
-- questions; %d, because it is the cheapest way to write a number. What may be no moment goes on.
if not ARGV[3] then
    local moment, cost = tonumber(redis.call('GET', KEYS[1]) or server_now), tonumber(ARGV[1])
    if moment and moment > 1e15 and moment < 1e16 and cost > 0 then
        local level = moment - server_now
        if level < 0 then level = 0 end
        local after = level + cost
        if after <= tonumber(ARGV[2]) then
            redis.call('SET', KEYS[1], string.format('%d', server_now + after),
                'PX', string.format('%d', after / 1000 + 1))
        end
        return level
    end
end

--@include gcra.lua

local late = ARGV[5] and server_now > tonumber(ARGV[5])
local level = gcra(KEYS[1], server_now, late and 0 or ARGV[1], ARGV[2], ARGV[3], ARGV[4])
if ARGV[4] and type(level) == 'number' then return {level, server_now} end
return level
