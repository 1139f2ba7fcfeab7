-- SPDX-License-Identifier: Apache-2.0
-- KEYS  1 state
-- ARGV  1 cost (negative gives back, 0 only looks)  2 bound  [3 parts of a microsecond  [4 floor]]
-- Answers the level before the charge, an integer.

--@include server_time.lua

-- A plain take at a whole rate, which nearly every one is. It says what gcra() says, without its
-- questions; %d, because it is the cheapest way to write a number.
if not ARGV[3] then
    local moment, cost = tonumber(redis.call('GET', KEYS[1]) or server_now), tonumber(ARGV[1])
    if moment and cost > 0 then
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

return gcra(KEYS[1], server_now, ARGV[1], ARGV[2], ARGV[3], ARGV[4])
