-- SPDX-License-Identifier: Apache-2.0
-- What a holder does that goes. Included behind handoff.lua.

-- Takes the owner from those who hold it; false if it is none of them.
local function drop(state, who)
    if state.owner == who then
        state.kind, state.owner = nil, nil
        return true
    end
    local share = state.first and redis.call('HGET', holders, who)
    if not share then return false end
    redis.call('HDEL', holders, who)
    state.used = state.used - tonumber(string.match(share, '^%d+ (%d+)'))
    if state.used <= 0 then state.kind, state.first = nil, nil end
    return true
end

local function try_next(state)
    if state.marked and quarantine_left(server_time()) == 0 then handoff(state) end
    settle(state)
end

-- A server that is out of memory can hand nothing over, but it can still delete. Where others hold
-- the name too, what is gone then counts until `first`.
local function let_next(state)
    local free = not state.kind
    local done, problem = pcall(try_next, state)
    if not done then
        if free then redis.call('DEL', lock) end
        error(problem)
    end
end
