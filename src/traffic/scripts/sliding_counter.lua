-- SPDX-License-Identifier: Apache-2.0
-- Counts in parts of the window: a few numbers per key, whatever the limit.
--
-- The state is "index total c1 … ck": the newest part of time, the sum of all, and the counts of
-- the k parts before the newest; c0, the newest part's own, is what remains of the sum. The real
-- window always lies within these k + 1 parts. Strict counts all of them: never more than the limit
-- in any window, and up to one part too careful. Unbiased counts the oldest by how much of it the
-- window still covers: right for steady traffic, and too generous by at most what the oldest part
-- held.
--
-- `parts` is k, negative for unbiased.
-- `op`: nil takes, 'look' only looks, 'give' gives back the newest.
-- Answers {allowed 1|0, used, retry_us, reset_us}.

-- The counts, newest first, as they are at `index`; 0 is the newest.
local function counts_at(state, index, parts)
    local counts, seen = {}, {}
    for i = 0, parts do counts[i] = 0 end
    if not state then return counts end
    for number in string.gmatch(state, '%d+') do seen[#seen + 1] = tonumber(number) end
    local shift = index - seen[1]
    local newest = seen[2]
    for i = 3, #seen do
        newest = newest - seen[i]
        if i - 2 + shift <= parts then counts[i - 2 + shift] = seen[i] end
    end
    if shift <= parts then counts[shift] = newest end
    return counts
end

local function put_counts(key, index, counts, parts, life_us)
    local total = 0
    for i = 0, parts do total = total + counts[i] end
    redis.call('SET', key, string.format('%.0f %.0f ', index, total) ..
        table.concat(counts, ' ', 1, parts), 'PX', math.floor(life_us / 1000) + 1)
end

-- What counts against the limit: all, or the oldest by the share of it that is still inside.
local function used_of(total, oldest, into, width, unbiased)
    if not unbiased then return total end
    return total - oldest + oldest * (width - into) / width
end

-- How long until `n` fit, and until nothing is left. After j more parts c[parts - j] is oldest.
local function counter_waits(counts, n, limit, into, width, parts, unbiased)
    local retry, reset = 0, 0
    local rest = 0
    for i = 0, parts do
        if counts[i] > 0 then reset = math.max(reset, (parts - i + 1) * width - into) end
    end
    for i = 0, parts do
        local oldest = counts[i]
        if rest + n > limit then break end
        local gone = width -- how much of the oldest part must have gone before n fit
        if rest + oldest + n <= limit then
            gone = 0
        elseif unbiased then
            gone = width - math.floor((limit - rest - n) * width / oldest)
        end
        retry = (parts - i) * width + gone - into
        rest = rest + oldest
    end
    return math.max(retry, 0), reset
end

local function sliding_counter(key, now, n, limit, width, parts, op)
    n, limit, width, parts = tonumber(n), tonumber(limit), tonumber(width), tonumber(parts)
    local unbiased = parts < 0
    if unbiased then parts = -parts end
    local state = redis.call('GET', key)
    local into = now % width
    local index = (now - into) / width
    local at = tonumber(string.match(state or '', '^(%d+) %d+ '))
    if state and not at then return redis.error_reply('WRONGTYPE not the state of a limit') end
    if at and at > index then index, into = at, 0 end -- the clock was set back
    local life = (parts + 1) * width - into

    local counts = counts_at(state, index, parts)
    local sum = 0
    for i = 0, parts do sum = sum + counts[i] end
    if op == 'give' then
        for i = 0, parts do
            local back = math.min(n, counts[i])
            counts[i], n, sum = counts[i] - back, n - back, sum - back
        end
        if state then put_counts(key, index, counts, parts, life) end
    end
    local used = used_of(sum, counts[parts], into, width, unbiased)
    local fits = op == 'give' or used + n <= limit
    if fits and not op then
        counts[0] = counts[0] + n
        used = used + n
        put_counts(key, index, counts, parts, life)
    end
    local retry, reset = counter_waits(counts, n, limit, into, width, parts, unbiased)
    return {fits and 1 or 0, math.ceil(used), fits and 0 or retry, reset}
end
