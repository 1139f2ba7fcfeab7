-- SPDX-License-Identifier: Apache-2.0
-- The handoff from holders that are gone to those in the queue. Included behind holders.lua.

-- Requires: the server is not in quarantine.
-- Gives what is free to the first in the queue, and on to the next as long as the next one fits:
-- all that share in a row, as many permits as there are. Nobody overtakes one that does not fit.
-- `me` is the caller, if it waits in the queue itself. Answers whether the caller is next: the way
-- along the queue ended before it, or at the end. A waiter whose place ran out is dropped, and so
-- is one that wants more permits than there are. One that nobody hears for keeps its place (its
-- connection may be coming back) but is passed over.
local function handoff(state, me)
    local rank = 0
    while true do
        local who = redis.call('ZRANGE', line, rank, rank)[1]
        if not who or who == me then return true end
        local claim, spare, kind, permits, most, channel = string.match(
            redis.call('GET', waiter_key(who)) or '', '^(%d+) (%d+) (%a)(%d+)/(%d+) (.*)$')
        permits, most = tonumber(permits), tonumber(most)
        if kind == 'p' then most = permits_of(most) end
        if not claim or permits > most then
            forget(who)
        elseif not fits(state, kind, permits, most) then
            return false
        elseif claim == '0' then
            if tell(channel, who .. ' 0 0') > 0 then return false end
            rank = rank + 1
        else
            local fence = draw_fence(tonumber(spare))
            if tell(channel, who .. ' ' .. digits(fence) .. ' ' .. claim) > 0 then
                admit(state, who, kind, permits, most, tonumber(claim), fence)
                forget(who)
                if kind == 'x' then return false end
            else
                rank = rank + 1
            end
        end
    end
end

-- A waiter looks once a second, and is then told when what is held will be over. A lease that is
-- shorter than that could begin and end unseen: so the next in the queue is told to look.
local function tell_of_brief(ms)
    if ms >= constant.longest_look_ms then return end
    local who = redis.call('ZRANGE', line, 0, 0)[1]
    local place = who and redis.call('GET', waiter_key(who)) or ''
    local channel = string.match(place, '^%d+ %d+ %a%d+/%d+ (.*)$')
    if channel then tell(channel, who .. ' 0 0') end
end

-- Writes down what came of it. A lock that nobody holds is left free for those in the queue alone;
-- they look within a second.
local function settle(state)
    local waiting = state.marked and redis.call('EXISTS', line) == 1
    if state.kind then
        store(state, waiting)
        if waiting and state.changed then
            tell_of_brief(state.first and state.first - now_ms() or state.left)
        end
    elseif waiting then
        redis.call('SET', lock, free_mark, 'PX', slack)
    else
        redis.call('DEL', lock)
    end
end
