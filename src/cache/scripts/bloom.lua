-- SPDX-License-Identifier: Apache-2.0
-- Adds items to a chain of Bloom filters, or looks for them.
--
-- All filters of the chain are in one string, one behind the other. An item is in the chain if one
-- of its filters has all its bits; it is added to the last one. When that is full, the next begins.
--
-- KEYS  1 about the chain: a hash of shape, filters, count (in the last one), total  2 bits
-- ARGV  1 'add' or 'has'  2 shape: a text of the options  3 life_ms  4 most filters
--       then for each filter: capacity, bits, hashes; then two hashes for each item
-- Answers for each item 1 or 0: 'add' whether it was new, 'has' whether it is there. Adding is
-- repeatable, but says 0 then.

local about = redis.call('HMGET', KEYS[1], 'shape', 'filters', 'count', 'total')
if about[1] and about[1] ~= ARGV[2] then return redis.error_reply('SHAPE ' .. about[1]) end
local adds, most = ARGV[1] == 'add', tonumber(ARGV[4])
local filters, count = tonumber(about[2] or 1), tonumber(about[3] or 0)
local total = tonumber(about[4] or 0)
local answers = {}

local function has_all(filter, base, h1, h2)
    local bits, hashes = tonumber(ARGV[3 * filter + 3]), tonumber(ARGV[3 * filter + 4])
    for i = 0, hashes - 1 do
        if redis.call('GETBIT', KEYS[2], base + (h1 + i * h2) % bits) == 0 then return false end
    end
    return true
end

for at = 5 + 3 * most, #ARGV, 2 do
    local h1, h2 = tonumber(ARGV[at]), tonumber(ARGV[at + 1])
    local found, base = false, 0
    for filter = 1, filters do
        found = has_all(filter, base, h1, h2)
        if found then break end
        if filter < filters then base = base + tonumber(ARGV[3 * filter + 3]) end
    end
    if adds and not found then
        if count >= tonumber(ARGV[3 * filters + 2]) and filters < most then
            base = base + tonumber(ARGV[3 * filters + 3])
            filters, count = filters + 1, 0
        end
        local bits = tonumber(ARGV[3 * filters + 3])
        for i = 0, tonumber(ARGV[3 * filters + 4]) - 1 do
            redis.call('SETBIT', KEYS[2], base + (h1 + i * h2) % bits, 1)
        end
        count, total = count + 1, total + 1
    end
    answers[#answers + 1] = (found ~= adds) and 1 or 0
end
if adds then
    redis.call('HSET', KEYS[1], 'shape', ARGV[2], 'filters', filters, 'count', count,
        'total', total)
    redis.call('PEXPIRE', KEYS[1], ARGV[3])
    redis.call('PEXPIRE', KEYS[2], ARGV[3])
end
return answers
