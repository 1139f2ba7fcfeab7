-- SPDX-License-Identifier: Apache-2.0
-- Forgets where a user is online, if that is still this connection.
--
-- KEYS  1 user
-- ARGV  1 connection
-- Answers 1 forgotten, 0 another connection's.  Repeatable.

if redis.call('GET', KEYS[1]) ~= ARGV[1] then return 0 end
return redis.call('DEL', KEYS[1])
