-- SPDX-License-Identifier: Apache-2.0
-- Refuses a connection to a server that was restarted less than a window ago, since it may have
-- forgotten leases that it had granted. Sent first on every new connection: a restart has always
-- ended the ones before. So a quarantine costs nothing per grant.
--
-- KEYS  1 boot
-- ARGV  1 the window in ms
-- Answers 1, or the error QUARANTINE.

local boot = KEYS[1]

--@include boot.lua

local t = redis.call('TIME')
local left = quarantine_left(t[1] * 1000000 + t[2])
if left > 0 then
    return redis.error_reply('QUARANTINE the server was restarted: it has no vote for another '
        .. string.format('%.0f', left) .. ' ms')
end
return 1
