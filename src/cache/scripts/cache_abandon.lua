-- SPDX-License-Identifier: Apache-2.0
-- Gives the lease back without a value: the load failed, so the next one may try.
--
-- KEYS  1 entry
-- ARGV  1 token  2 channel  3 message
-- Answers 1 given back | 0 the lease was not the caller's (any more). Repeatable.

if redis.call('GETRANGE', KEYS[1], 46, 77) ~= ARGV[1] then return 0 end
if redis.call('GETRANGE', KEYS[1], 3, 3) == '-' then
    redis.call('DEL', KEYS[1])
else
    redis.call('SETRANGE', KEYS[1], 30, string.rep('0', 48))
end
redis.call('PUBLISH', ARGV[2], ARGV[3])
return 1
