-- SPDX-License-Identifier: Apache-2.0
-- Keeps what the first caller has to say to those who come after it.
--
-- KEYS  1 mark
-- ARGV  1 'once:' and the token of the first caller  2 record  3 window_ms
-- Answers 1 kept | 0 the mark is not that caller's (any more); nothing was touched. Repeatable.

local seen = redis.call('GET', KEYS[1])
if not seen or string.sub(seen, 1, #ARGV[1]) ~= ARGV[1] then return 0 end
redis.call('SET', KEYS[1], ARGV[1] .. ':' .. ARGV[2], 'PX', ARGV[3])
return 1
