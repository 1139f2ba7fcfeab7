-- SPDX-License-Identifier: Apache-2.0
-- KEYS  1 counts
-- ARGV  1 how many  2 limit  3 width_us of a part  4 parts, negative for unbiased
--       [5 look | give | block  [6 until: what comes later (server time, us) only looks]]
-- Answers as sliding_counter.lua, to a block with the server's time in us behind it; or
-- {used, how far the part is in, us} for the usual take below.

--@include server_time.lua

-- Nearly every take falls into the part that the last one fell into: it changes one number, and
-- leaves the rest of the text, and the expiry, as they are.
if not ARGV[5] then
    local width = tonumber(ARGV[3])
    local into = server_now % width
    local at, total, rest = string.match(redis.call('GET', KEYS[1]) or '', '^(%d+) (%d+)( .*)$')
    if at and at * width == server_now - into then
        local used = total + ARGV[1]
        if string.sub(ARGV[4], 1, 1) == '-' then
            local oldest = string.match(rest, '%d+$')
            used = total - oldest + oldest * (width - into) / width + ARGV[1]
        end
        if used <= tonumber(ARGV[2]) then
            redis.call('SET', KEYS[1], string.format('%s %d%s', at, total + ARGV[1], rest),
                'KEEPTTL')
            return {math.ceil(used), into}
        end
    end
end

--@include sliding_counter.lua

local op = ARGV[5]
if ARGV[6] and server_now > tonumber(ARGV[6]) then op = 'look' end
if op ~= 'block' then
    return sliding_counter(KEYS[1], server_now, ARGV[1], ARGV[2], ARGV[3], ARGV[4], op)
end
local answer = sliding_counter(KEYS[1], server_now, ARGV[1], ARGV[2], ARGV[3], ARGV[4])
if not answer.err then answer[5] = server_now end
return answer
