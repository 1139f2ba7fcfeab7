-- SPDX-License-Identifier: Apache-2.0
-- Says who the server is, and for how long it has been that one at least. Asked for in a slot that
-- all clients agree on for each server of a Cluster: so what one of them has seen, all know.
--
-- KEYS  1 boot
-- ARGV  1 the window in ms
-- Answers {run, age_ms}, of an age not above the window.

local boot = KEYS[1]

--@include boot.lua

local t = redis.call('TIME')
local left, run = quarantine_left(t[1] * 1000000 + t[2])
return {run, ARGV[1] - left}
