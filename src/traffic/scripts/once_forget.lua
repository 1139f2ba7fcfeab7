-- SPDX-License-Identifier: Apache-2.0
-- Takes the first caller's mark away, so that the next caller is first.
--
-- KEYS  1 mark
-- ARGV  1 'once:' and the token of the first caller
-- Answers 1 forgotten | 0 the mark is not that caller's (any more); nothing was touched.

local seen = redis.call('GET', KEYS[1])
if not seen or string.sub(seen, 1, #ARGV[1]) ~= ARGV[1] then return 0 end
return redis.call('DEL', KEYS[1])
