-- SPDX-License-Identifier: Apache-2.0
-- What a holder does that goes. The lock is deleted first: a server that is out of memory still
-- does that, even if it can hand nothing over.

local function let_next(now_us)
    redis.call('DEL', lock)
    if redis.call('EXISTS', line) == 0 then return end
    if quarantine_left(now_us) > 0 then
        keep_for_line()
    else
        hand_over(now_us)
    end
end
