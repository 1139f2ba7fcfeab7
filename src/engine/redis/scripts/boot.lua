-- SPDX-License-Identifier: Apache-2.0
-- Quarantine: a server that was restarted or promoted may have forgotten leases that it, or the
-- master before it, had granted. Until the longest of them must be over, it grants nothing.
--
--   boot     hash: run -> who the server was that was seen last, until -> when the quarantine is
--            over (server ms); kept for a year
--
-- A server is its run id, which is new after a restart, and its replication id, which is new after
-- a promotion: a master that was demoted and promoted again is another one. The last of ARGV is the
-- window in ms (0: no quarantine). A server of which nothing is known is in none if it has run for
-- longer than the window, by a second at least, and was never promoted.

-- The milliseconds until grants are safe again.
local function quarantine_left(now_us)
    local window = boot and tonumber(ARGV[#ARGV]) or 0
    if window == 0 then return 0 end
    local now = math.floor(now_us / 1000)
    local about = redis.call('INFO', 'server', 'replication')
    local run = string.match(about, 'run_id:(%x+)') .. string.match(about, 'master_replid:(%x+)')
    local known = redis.call('HMGET', boot, 'run', 'until')
    local over = tonumber(known[2] or 0)
    if known[1] ~= run then
        -- Counted by whole seconds of the clock, so up to one more than have passed; and a clock
        -- that was set back may say that the server has not started yet.
        local uptime = tonumber(string.match(about, 'uptime_in_seconds:(%-?%d+)'))
        local age = math.max(uptime - 1, 0) * 1000
        over = now + window
        local promoted = string.match(about, 'master_replid2:(%x+)') ~= string.rep('0', 40)
        if not known[1] and not promoted then over = now + math.max(window - age, 0) end
        redis.call('HSET', boot, 'run', run, 'until', string.format('%.0f', over))
        redis.call('PEXPIRE', boot, 31536000000)
    end
    return math.max(over - now, 0)
end
