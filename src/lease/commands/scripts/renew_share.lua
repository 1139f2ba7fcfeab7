-- SPDX-License-Identifier: Apache-2.0
-- As renew.lua, for a lease that others may hold too: see holders.lua. While it is alone, a server
-- that is out of memory still carries it out.
--
-- KEYS  1 lock  2 evicted  3 holders
-- ARGV  1 owner and ':hf:'  2 ttl_ms  3 fence  4 kind, as behind the owner: "s1:", "p2/5:"
-- Answers as renew.lua.

local lock, holders, owner, ttl = KEYS[1], KEYS[3], ARGV[1], tonumber(ARGV[2])
local held = redis.call('GET', lock) or ''
local who = string.sub(owner, 1, -5)
local time = redis.call('TIME')
local now = time[1] * 1000 + math.ceil(time[2] / 1000)
local function answer(what) return {what, time[1], time[2]} end
local function lost() return answer(redis.call('HGET', KEYS[2], who) or code.lost) end

local slack = constant.slack_ms
local marked = string.sub(held, -1) == '+'
local mark = marked and '+' or ''
local wanted = marked and ttl + slack or ttl

if string.sub(held, 1, #owner) == owner then
    local left = redis.call('PTTL', lock)
    if marked and left >= 0 and left <= slack then return answer(code.lost) end
    if held == owner .. ARGV[4] .. mark and ARGV[3] ~= '0' then
        -- Nothing has renewed it yet, so what its ttl has lost is what it was held for.
        local since = now - math.max(wanted - left, 0)
        redis.pcall('SET', lock,
            owner .. ARGV[4] .. ARGV[3] .. '@' .. string.format('%.0f', since) .. mark, 'KEEPTTL')
    end
    if left < wanted then redis.call('PEXPIRE', lock, wanted) end
    return answer(marked and code.renewed_contended or code.renewed)
end
if string.sub(held, 1, 4) ~= ':hf:' then return lost() end

local share = redis.call('HGET', holders, who)
local ends, permits, fence, since = string.match(share or '', '^(%d+) (%d+) (%d+) (%d+)$')
if not ends or tonumber(ends) < now then return lost() end
ends = math.max(tonumber(ends), now + ttl)
if fence == '0' then fence = ARGV[3] end
redis.call('HSET', holders, who, string.format('%.0f %s %s %s', ends, permits, fence, since))
if redis.call('PTTL', lock) < wanted then
    redis.call('PEXPIRE', lock, wanted)
    redis.call('PEXPIRE', holders, wanted)
end
return answer(marked and code.renewed_contended or code.renewed)
