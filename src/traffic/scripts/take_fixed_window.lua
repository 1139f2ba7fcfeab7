-- SPDX-License-Identifier: Apache-2.0
-- KEYS  1 counter
-- ARGV  1 how many  2 limit  3 window_ms  [4 told | look | give | block]
--       [5 until: what comes later (server time, us) only looks]
-- Answers as fixed_window.lua; to a block with the server's time in us behind it.

--@include fixed_window.lua

-- Not server_time.lua: that asks at once, and a plain take needs no time.
local op = ARGV[4]
local function server_now()
    local time = redis.call('TIME')
    return time[1] * 1000000 + time[2]
end
if ARGV[5] and server_now() > tonumber(ARGV[5]) then op = 'look' end
if op ~= 'block' then return fixed_window(KEYS[1], ARGV[1], ARGV[2], ARGV[3], op) end
local answer = fixed_window(KEYS[1], ARGV[1], ARGV[2], ARGV[3])
if not answer.err then answer[5] = server_now() end
return answer
