-- SPDX-License-Identifier: Apache-2.0
-- KEYS  1 session
-- ARGV  1 ttl_ms
-- Answers all fields and their values, ours too; nothing if there is no session.

--@include session_touch.lua

touch(KEYS[1], tonumber(ARGV[1]))
return redis.call('HGETALL', KEYS[1])
