-- SPDX-License-Identifier: Apache-2.0
-- What a holder does that goes. A server that is out of memory can hand nothing over, but it can
-- still delete.

local function try_next()
    local now_us = server_time()
    if quarantine_left(now_us) == 0 then
        hand_over(now_us)
    elseif redis.call('EXISTS', line) == 1 then
        keep_for_line()
    else
        redis.call('DEL', lock)
    end
end

local function let_next()
    local done, problem = pcall(try_next)
    if not done then
        redis.call('DEL', lock)
        error(problem)
    end
end
