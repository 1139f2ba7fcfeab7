-- SPDX-License-Identifier: Apache-2.0
-- The server's time in microseconds: the one clock that all clients of a limit share.

local seconds_and_rest = redis.call('TIME')
local server_now = seconds_and_rest[1] * 1000000 + seconds_and_rest[2]
