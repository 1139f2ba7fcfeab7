-- SPDX-License-Identifier: Apache-2.0
-- Ends a window, whoever began it.
--
-- KEYS  1 window
-- Answers 1 ended | 0 there was none. Repeatable.

--@include other_mark.lua

local seen = redis.call('GET', KEYS[1])
if not seen then return 0 end
if is_other_mark(seen) then return redis.error_reply('WRONGTYPE not the mark of a cooldown') end
return redis.call('DEL', KEYS[1])
