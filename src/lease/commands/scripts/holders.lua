-- SPDX-License-Identifier: Apache-2.0
-- Who holds a name: one, or several that do not exclude each other. Included behind queue.lua;
-- expects the locals holders and limit too.
--
-- A name is held in one kind at a time: 'x' exclusively, 's' shared, 'p' by permits. One holder
-- alone stands in the lock itself:
--
--   lock     string: "owner:hf:" kind fence "@" since; kind is nothing for x, "s1:", or "p2/5:"
--            (two permits of five); since: when it was granted (server ms, only for people). Both
--            numbers are missing until the fence is asked for or the lease renewed
--
-- From the second on they all stand beside the lock, which says what they have in common:
--
--   lock     string: ":hf:s3:first" or ":hf:p7/10:first": what is held; first: no holder's time
--            ends before (server ms)
--   holders  hash: owner -> "ends permits fence since" (server ms; 0 for what is missing)
--   limit    string: how many permits there are, if that was changed by resize
--
-- The lock lives until the last of them is over. Whoever's time is over counts until somebody looks
-- after `first`; then all are counted anew. Holders renew at a third of their ttl, so that happens
-- a few times in a ttl, however many they are.

-- A lock that nobody holds, and that is kept for those in the queue.
local free_mark = ':hf:+'

-- Nobody believes in a lease for longer than this without a renewal, ms: no ttl is longer.
local longest_ttl = constant.longest_ttl_ms

-- Counting anew takes a microsecond for each: so many may hold one name.
local most_holders = 10000

local function now_ms() return math.ceil(server_time() / 1000) end

local function share_text(ends, permits, fence, since)
    return string.format('%.0f %d %.0f %.0f', ends, permits, fence or 0, since or 0)
end

-- Writes the state down: marked if somebody waits. Requires: somebody holds it.
local function store(state, waiting)
    local what = ''
    if state.kind == 's' then what = string.format('s%d:', state.used) end
    if state.kind == 'p' then what = string.format('p%d/%d:', state.used, state.limit) end
    local number = state.first and digits(state.first) or ''
    if state.owner then
        number = state.fence and digits(state.fence) .. '@' .. digits(state.since or now_ms()) or ''
    end
    state.value = (state.owner or '') .. ':hf:' .. what .. number
    state.marked = waiting
    local text = waiting and state.value .. '+' or state.value
    if state.left < 0 then
        redis.call('SET', lock, text, 'KEEPTTL')
        return
    end
    local ms = waiting and state.left + slack or state.left
    redis.call('SET', lock, text, 'PX', ms)
    if not state.owner then redis.call('PEXPIRE', holders, ms) end
end

local function count_anew(state)
    local now, last = now_ms(), 0
    local all = redis.call('HGETALL', holders)
    state.used, state.first = 0, nil
    for i = 1, #all, 2 do
        local ends, permits = string.match(all[i + 1], '^(%d+) (%d+)')
        ends = tonumber(ends)
        if ends < now then
            redis.call('HDEL', holders, all[i])
        else
            state.used = state.used + tonumber(permits)
            state.first = math.min(state.first or ends, ends)
            last = math.max(last, ends)
        end
    end
    if not state.first then
        state.kind = nil
        return
    end
    state.left = last - now + 1
    store(state, state.marked)
end

-- What is known of the lock:
--   kind          'x', 's', 'p', '?' for another program's; nil: it is free
--   value         as stored, without its mark
--   marked        somebody waits
--   left          milliseconds until all of it is over; -1: never
--   owner, fence, since  of the one that is alone; no owner: there are several
--   used, limit   permits held, of how many
--   first         of several, as above
local function look()
    local value = redis.call('GET', lock)
    if not value then return {} end
    if value == free_mark then return {marked = true} end
    local marked = string.sub(value, -1) == '+'
    local state = {kind = '?', value = marked and string.sub(value, 1, -2) or value, used = 1}
    local who, kind, rest = string.match(state.value, '^(%x*):hf:([sp]?)(.*)$')
    local used, most, number, since
    if kind == '' then
        number, since = string.match(rest, '^(%d*)@?(%d*)$')
        if #who ~= 32 then number = nil end
    elseif who and (#who == 32 or #who == 0) then
        used, most, number, since = string.match(rest, '^(%d+)/?(%d*):(%d*)@?(%d*)$')
    end
    state.left = redis.call('PTTL', lock)
    if not number then return state end
    state.marked = marked
    local lasts = state.left < 0  -- an operator made it persistent
    if marked and not lasts then
        state.left = state.left - slack
        if state.left <= 0 then return {marked = true} end
    end
    state.kind = kind == '' and 'x' or kind
    state.used, state.limit = tonumber(used or 1), tonumber(most or 1)
    if who ~= '' then
        state.owner, state.fence, state.since = who, tonumber(number), tonumber(since)
    else
        state.first = tonumber(number)
        if lasts or state.first < now_ms() then count_anew(state) end
    end
    return state
end

-- How many permits there are: as resized (which is remembered for a week after the last use), or
-- else as the one says who asks.
local resized
local function permits_of(asked)
    if resized == nil then
        resized = redis.call('GET', limit)
        if resized then redis.call('PEXPIRE', limit, constant.limit_life_ms) end
    end
    return tonumber(resized or asked)
end

-- Can it be held beside what is held already?
local function fits(state, kind, permits, most)
    if not state.kind then return true end
    if state.kind ~= kind or kind == 'x' then return false end
    if kind == 'p' and state.used + permits > most then return false end
    return state.used < most_holders or not state.first or
        redis.call('HLEN', holders) < most_holders
end

-- One holder more, for `ms` from now; the state is still to be stored. Requires: it fits. Whatever
-- is in `holders` before there are two belongs to some whose lock was deleted.
local function admit(state, who, kind, permits, most, ms, fence)
    state.changed = true
    if not state.kind then
        state.kind, state.owner, state.fence, state.first = kind, who, fence, nil
        state.used, state.limit, state.left, state.since = permits, most, ms, nil
        return
    end
    local now = now_ms()
    if state.owner then
        if state.left < 0 then state.left = longest_ttl end
        state.first = now + state.left
        redis.call('DEL', holders)
        redis.call('HSET', holders, state.owner,
            share_text(state.first, state.used, state.fence, state.since))
        state.owner = nil
    end
    redis.call('HSET', holders, who, share_text(now + ms, permits, fence, now))
    state.used, state.limit = state.used + permits, most
    state.first, state.left = math.min(state.first, now + ms), math.max(state.left, ms)
end
