-- SPDX-License-Identifier: Apache-2.0
-- Ends sessions of one user.
--
-- KEYS  1 the user's sessions  2 … the sessions
-- ARGV  their ids, in the same order
-- Answers how many there were. Repeatable.

local ended = 0
for i, id in ipairs(ARGV) do
    ended = ended + redis.call('DEL', KEYS[i + 1])
    redis.call('ZREM', KEYS[1], id)
end
return ended
