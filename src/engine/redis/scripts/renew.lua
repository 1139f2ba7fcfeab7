-- SPDX-License-Identifier: Apache-2.0
-- Makes the owner's lease run for ttl from now; never shortens it. Uses only commands that a server
-- which is out of memory still carries out.
--
-- KEYS  1 lock
-- ARGV  1 owner  2 ttl_ms
-- Answers 1 renewed | 0 it is not the owner's (any more); nothing was touched.

local held = redis.call('GET', KEYS[1])
local owner = ARGV[1]
if not held or string.sub(held, 1, #owner + 1) ~= owner .. ':' then return 0 end
if redis.call('PTTL', KEYS[1]) < tonumber(ARGV[2]) then redis.call('PEXPIRE', KEYS[1], ARGV[2]) end
return 1
