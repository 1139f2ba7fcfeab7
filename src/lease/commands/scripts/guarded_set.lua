-- SPDX-License-Identifier: Apache-2.0
-- Writes a value unless a later holder has written it, or this holder itself has since.
--
-- KEYS  1 the value  2 the largest fence that has written it  3 the last write (optional)
-- ARGV  1 fence  2 value  3 ttl_ms, 0 for none  4 for how long to remember the fence, ms
--       5 writer  6 the number of this write, which grows with each write of that writer (with the
--       third key)
-- Answers {1, fence} written | {0, the largest fence} refused, nothing was touched.
-- Repeating it is the same as once. A write that comes after a later one of the same writer and
-- fence (it lay in a buffer) is answered as written, and touches nothing: the later one has
-- overwritten it.

local largest = tonumber(redis.call('GET', KEYS[2]) or 0)
if tonumber(ARGV[1]) < largest then return {code.fence_too_small, largest} end
if KEYS[3] then
    local writer, number = string.match(redis.call('GET', KEYS[3]) or '', '^(%x+) (%d+)$')
    if writer == ARGV[5] and tonumber(number) > tonumber(ARGV[6]) and
        tonumber(ARGV[1]) == largest then
        return {code.fence_taken, largest}
    end
    redis.call('SET', KEYS[3], ARGV[5] .. ' ' .. ARGV[6], 'PX', ARGV[4])
end
if ARGV[3] == '0' then
    redis.call('SET', KEYS[1], ARGV[2])
else
    redis.call('SET', KEYS[1], ARGV[2], 'PX', ARGV[3])
end
redis.call('SET', KEYS[2], ARGV[1], 'PX', ARGV[4])
return {code.fence_taken, tonumber(ARGV[1])}
