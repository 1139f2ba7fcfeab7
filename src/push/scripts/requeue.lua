-- SPDX-License-Identifier: Apache-2.0
-- Puts entries that a consumer has read, and will not finish, back into the queue for others.
--
-- KEYS  1 queue
-- ARGV  1 group, then ids
-- Answers how many were put back.  Repeatable: an entry that was put back is gone.

local back = 0
for i = 2, #ARGV do
    local entry = redis.call('XRANGE', KEYS[1], ARGV[i], ARGV[i])[1]
    if entry then
        redis.call('XADD', KEYS[1], '*', unpack(entry[2]))
        redis.call('XACK', KEYS[1], ARGV[1], ARGV[i])
        redis.call('XDEL', KEYS[1], ARGV[i])
        back = back + 1
    end
end
return back
