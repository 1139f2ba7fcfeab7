-- SPDX-License-Identifier: Apache-2.0
-- Quarantine: a server that was restarted or promoted may have forgotten leases that it, or the
-- master before it, had granted. Until the longest of them must be over, it grants nothing.
--
--   boot     hash: run -> the run id of the server that was seen last, until -> when the
--            quarantine is over (server ms); kept for a year
--
-- The last of ARGV is the window in ms (0: no quarantine). A server of which nothing is known, and
-- that has run for longer than the window, is in none.

-- The milliseconds until grants are safe again.
local function quarantine_left(now_us)
    local window = boot and tonumber(ARGV[#ARGV]) or 0
    if window == 0 then return 0 end
    local now = math.floor(now_us / 1000)
    local about = redis.call('INFO', 'server')
    local run = string.match(about, 'run_id:(%x+)')
    local known = redis.call('HMGET', boot, 'run', 'until')
    local over = tonumber(known[2] or 0)
    if known[1] ~= run then
        local age = tonumber(string.match(about, 'uptime_in_seconds:(%d+)')) * 1000
        over = now + window
        if not known[1] then over = now + math.max(window - age, 0) end
        redis.call('HSET', boot, 'run', run, 'until', string.format('%.0f', over))
        redis.call('PEXPIRE', boot, 31536000000)
    end
    return math.max(over - now, 0)
end
