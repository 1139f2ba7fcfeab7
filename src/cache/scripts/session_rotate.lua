-- SPDX-License-Identifier: Apache-2.0
-- Gives a session another id.
--
-- KEYS  1 session  2 the same under its new id  3 the user's sessions
-- ARGV  1 id  2 new id
-- Answers 1 | 0 there is no session. Repeatable.

if redis.call('EXISTS', KEYS[1]) == 0 then return redis.call('EXISTS', KEYS[2]) end
redis.call('RENAME', KEYS[1], KEYS[2])
local ends = redis.call('HGET', KEYS[2], '_until')
redis.call('ZREM', KEYS[3], ARGV[1])
redis.call('ZADD', KEYS[3], ends, ARGV[2])
return 1
