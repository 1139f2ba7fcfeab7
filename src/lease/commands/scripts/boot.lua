-- SPDX-License-Identifier: Apache-2.0
-- Quarantine: a server that was restarted or promoted may have forgotten leases that it, or the
-- master before it, had granted. Until the longest of them must be over, it grants nothing.
--
--   boot     hash: run -> who the server was that was seen last, since -> it has been that one
--            since then at the latest (server ms); kept for a year
--
-- A server is its run id, which is new after a restart, and its replication id, which is new after
-- a promotion: a master that was demoted and promoted again is another one. The last of ARGV is the
-- window in ms (0: no quarantine), and behind a space a server that the caller knows to have been
-- that one for longer than the window, if it knows any.
--
-- The window counts from the restart or the promotion, as far as anything tells when that was: the
-- uptime, if the server was not promoted since; what was written down here; what the caller knows.
-- Only if nothing does, it counts from now.

-- A master without replicas forgets after this time that it was promoted (repl-backlog-ttl): an
-- uptime proves no more than that.
local longest_proof = 3600

-- Who the server is, and since when at the latest (ms).
local function server_since(now, window, old)
    local about = redis.call('INFO', 'server', 'replication')
    local run = string.match(about, 'run_id:(%x+)') .. string.match(about, 'master_replid:(%x+)')
    local known = redis.call('HMGET', boot, 'run', 'since')
    local noted = tonumber(known[2] or 0)
    local since = math.min(noted, now)  -- the clock may have been set back
    if known[1] ~= run or not known[2] then
        -- Counted by whole seconds of the clock, so up to one more than have passed; and a clock
        -- that was set back may say that the server has not started yet.
        local uptime = tonumber(string.match(about, 'uptime_in_seconds:(%-?%d+)'))
        local age = math.min(math.max(uptime - 1, 0), longest_proof) * 1000
        local promoted = string.match(about, 'master_replid2:(%x+)') ~= string.rep('0', 40)
        if promoted then age = 0 end
        if old == run then age = math.max(age, window) end
        -- What is written down may have come from another server, with its slot.
        since = math.max(since, now - age)
    elseif old == run then
        since = math.min(since, now - window)
    end
    if known[1] ~= run or noted ~= since then
        redis.call('HSET', boot, 'run', run, 'since', string.format('%.0f', since))
        redis.call('PEXPIRE', boot, constant.boot_life_ms)
    end
    return run, since
end

-- The milliseconds until grants are safe again; with a window, also who the server is.
local function quarantine_left(now_us)
    local asked = boot and ARGV[#ARGV] or '0'
    if asked == '0' then return 0 end
    local window, old = string.match(asked, '^(%d+) ?(%x*)$')
    window = tonumber(window)
    local now = math.floor(now_us / 1000)
    local run, since = server_since(now, window, old)
    return math.max(since + window - now, 0), run
end
