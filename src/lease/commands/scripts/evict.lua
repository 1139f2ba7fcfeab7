-- SPDX-License-Identifier: Apache-2.0
-- Takes the name from all who hold it, by an operator's word, and hands it to the next in the queue
-- that live. Also from another program: its own compare-and-delete will find nothing.
--
-- KEYS  1 lock  2 line  3 waiters  4 fence counter  5 holders  6 limit  7 evicted  8 boot (only if
--       every grant must be careful)
-- ARGV  1 the reason  2 what a client's channel begins with  3 quarantine_ms
-- Answers how many held it.
-- Not idempotent: a second time it takes the name from the next holders.
--
--   evicted  hash: owner -> the reason. The scripts that renew and release answer it to the owner;
--            kept for as long as the owner may believe in its lease, and a minute more

local lock, line, waiters, counter = KEYS[1], KEYS[2], KEYS[3], KEYS[4]
local holders, limit, evicted, boot = KEYS[5], KEYS[6], KEYS[7], KEYS[8]

--@include boot.lua
--@include queue.lua
--@include holders.lua
--@include handoff.lua
--@include next.lua

local most_remembered = 10000

local state = look()
if not state.kind then return 0 end
local owners = {}
if state.owner then owners = {state.owner} end
if state.first then owners = redis.call('HKEYS', holders) end

-- The reason is a courtesy: a server that is out of memory does without.
if #owners > 0 then
    if redis.call('HLEN', evicted) >= most_remembered then redis.call('DEL', evicted) end
    for _, owner in ipairs(owners) do
        redis.pcall('HSET', evicted, owner, ARGV[1])
        tell(ARGV[2] .. string.sub(owner, 1, 12), owner .. ' evicted ' .. ARGV[1])
        drop(state, owner)
    end
    local keep = math.max(state.left, redis.call('PTTL', evicted) - 60000, 0) + 60000
    redis.call('PEXPIRE', evicted, digits(keep))
end
state.kind, state.marked = nil, true
let_next(state)
return math.max(#owners, 1)
