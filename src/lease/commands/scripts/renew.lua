-- SPDX-License-Identifier: Apache-2.0
-- Makes the owner's lease run for ttl from now; never shortens it. What it needs for that, a server
-- which is out of memory still carries out. Writes down the fence of a lease that was granted the
-- fast path, and since when it is held, for whoever lists the names.
--
-- KEYS  1 lock  2 evicted
-- ARGV  1 owner and ':hf:'  2 ttl_ms  3 fence
-- Answers {what, and the two parts of TIME}: 1 renewed | 2 renewed, and somebody waits | 0 it is
--         not the owner's (any more) | the words of whoever took it away from the owner. Unless it
--         was renewed, nothing was touched. By the time, the client notices a clock that was set.

local lock, owner, ttl = KEYS[1], ARGV[1], tonumber(ARGV[2])
local t = redis.call('TIME')
local function answer(what) return {what, t[1], t[2]} end
local held = redis.call('GET', lock)
if not held or string.sub(held, 1, #owner) ~= owner then
    return answer(redis.call('HGET', KEYS[2], string.sub(owner, 1, -5)) or code.lost)
end

local slack = constant.slack_ms
local left = redis.call('PTTL', lock)

-- What its value does not say yet, for people. If nothing has renewed it, what its ttl has lost is
-- what it was held for; one that was handed off has had less, a claim, and has hardly begun.
local number, since, mark = string.match(held, '^(%d*)(@?%d*)(%+?)$', #owner + 1)
if number and since == '' and (number ~= '' or ARGV[3] ~= '0') then
    local now = t[1] * 1000 + math.floor(t[2] / 1000)
    local lease_left = mark == '+' and left - slack or left
    if left < 0 then lease_left = ttl end  -- an operator made it persistent: until now
    if number == '' then
        number = ARGV[3]
        now = now - math.max(ttl - lease_left, 0)
    end
    if lease_left > 0 then
        redis.pcall('SET', lock, owner .. number .. '@' .. string.format('%.0f', now) .. mark,
            'KEEPTTL')
    end
end

if string.sub(held, -1) == '+' then
    if left >= 0 and left <= slack then return answer(code.lost) end
    if left < ttl + slack then redis.call('PEXPIRE', lock, ttl + slack) end
    return answer(code.renewed_contended)
end
if left < ttl then redis.call('PEXPIRE', lock, ttl) end
return answer(code.renewed)
