-- SPDX-License-Identifier: Apache-2.0
-- Ends the owner's lease if nobody waits: what most releases are, at the price of a plain
-- compare-and-delete.
--
-- KEYS  1 lock
-- ARGV  1 owner and ':hf:'
-- Answers 1 released | 0 it was not the owner's (any more) | 2 somebody waits, nothing was done:
--         release.lua is needed.

local held = redis.call('GET', KEYS[1])
if held == ARGV[1] then return redis.call('DEL', KEYS[1]) end
if not held or string.sub(held, 1, #ARGV[1]) ~= ARGV[1] then return code.not_held end
if string.sub(held, -1) == '+' then return code.contended end
return redis.call('DEL', KEYS[1])
