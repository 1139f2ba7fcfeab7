-- SPDX-License-Identifier: Apache-2.0
-- Deletes an entry, and with it the lease of whoever loads it now.
--
-- KEYS  1 entry
-- ARGV  1 channel  2 message
-- Answers how many entries were deleted, 0 or 1. The message goes out either way: a process may
-- still have a copy. Repeatable.

local gone = redis.call('DEL', KEYS[1])
redis.call('PUBLISH', ARGV[1], ARGV[2])
return gone
