-- SPDX-License-Identifier: Apache-2.0
-- Every take of the last window, in a sorted set: exact, at the price of one entry for each.
--
-- The score is the server's time in microseconds. The member is "sum:n": how many were taken since
-- the key began, up to and with this entry, and how many by this entry. So what is used now follows
-- from the first and the last entry alone, two takes in one microsecond are two members, and a cost
-- above one is one entry. The sum is written with leading zeros: members of equal score are ordered
-- as text. A clock that was set back does not break the order: an entry is never before the last.
--
-- `op`: nil takes, 'look' only looks, 'give' gives back the newest.
-- Answers {allowed 1|0, used, retry_us, reset_us}.

local function log_entry(key, rank)
    local found = redis.call('ZRANGE', key, rank, rank, 'WITHSCORES')
    if not found[1] then return nil end
    local sum, n = string.match(found[1], '^(%d+):(%d+)$')
    return {sum = tonumber(sum), n = tonumber(n), at = tonumber(found[2]), member = found[1]}
end

local function log_put(key, at, sum, n)
    redis.call('ZADD', key, string.format('%.0f', at), string.format('%016.0f:%.0f', sum, n))
end

-- How long until `need` of what is used has left the window: the first entry whose sum reaches it.
local function log_wait(key, now, window, base, need)
    local low, high = 0, redis.call('ZCARD', key) - 1
    while low < high do
        local middle = math.floor((low + high) / 2)
        if log_entry(key, middle).sum - base >= need then high = middle else low = middle + 1 end
    end
    return log_entry(key, low).at + window - now
end

local function log_give(key, n)
    local last = log_entry(key, -1)
    while last and n > 0 do
        redis.call('ZREM', key, last.member)
        if last.n > n then log_put(key, last.at, last.sum - n, last.n - n) end
        n = n - math.min(n, last.n)
        last = log_entry(key, -1)
    end
end

local function sliding_log(key, now, n, limit, window, op)
    n, limit, window = tonumber(n), tonumber(limit), tonumber(window)
    local first = log_entry(key, 0)
    if first and not first.sum then
        return redis.error_reply('WRONGTYPE not the state of a limit')
    end
    if first and first.at <= now - window then
        redis.call('ZREMRANGEBYSCORE', key, '-inf', string.format('%.0f', now - window))
        first = log_entry(key, 0)
    end
    if first and op == 'give' then
        log_give(key, n)
        first = log_entry(key, 0)
    end
    local last = first and log_entry(key, -1)
    local base = first and first.sum - first.n or 0
    local used = last and last.sum - base or 0
    local reset = last and last.at + window - now or 0
    if op == 'give' then return {1, used, 0, reset} end
    if used + n > limit then
        return {0, used, log_wait(key, now, window, base, used + n - limit), reset}
    end
    if op == 'look' then return {1, used, 0, reset} end
    local at = last and math.max(now, last.at) or now
    log_put(key, at, base + used + n, n)
    redis.call('PEXPIRE', key, math.floor((at + window - now) / 1000) + 1)
    return {1, used + n, 0, at + window - now}
end
