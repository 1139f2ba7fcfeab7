-- SPDX-License-Identifier: Apache-2.0
-- Begins a window unless one runs already.
--
-- KEYS  1 window
-- ARGV  1 'cooldown:' and the token of this try  2 window_ms
-- Answers -3 begun | what PTTL says of the window that runs (-1: it never ends).
-- Repeatable: who asks again with the same token is told the same.

local seen = redis.call('SET', KEYS[1], ARGV[1], 'NX', 'GET', 'PX', ARGV[2])
if not seen or seen == ARGV[1] then return -3 end

--@include other_mark.lua

if is_other_mark(seen) then return redis.error_reply('WRONGTYPE not the mark of a cooldown') end
return redis.call('PTTL', KEYS[1])
