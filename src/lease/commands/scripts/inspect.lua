-- SPDX-License-Identifier: Apache-2.0
-- One name as it is now: its lock, and who waits for it and is alive. Owners are secrets and stay
-- here; only the ids of their clients are told. Changes nothing.
--
-- KEYS  1 lock  2 line  3 waiters  4 limit  5 what the keys of notes begin with
-- Answers {the lock's value with the owner cut to its client's id, or '' if there is no lock, or
--          '?' if it is another program's; remaining_ms (as PTTL); the permits as resized, or '';
--          the note of a holder that is alone, or ''; and for each waiter: client's id, ticket,
--          what it wants ("x1/1", "s1/1", "p2/5")}

local held = redis.call('GET', KEYS[1]) or ''
local seen = {held, redis.call('PTTL', KEYS[1]), redis.call('GET', KEYS[4]) or '', ''}
local alone = string.find(held, '^%x+:hf:%d*@?%d*%+?$') or
    string.find(held, '^%x+:hf:[sp]%d+/?%d*:%d*@?%d*%+?$')
if alone and string.sub(held, 33, 33) == ':' then
    seen[1] = string.sub(held, 1, 12) .. string.sub(held, 33)
    seen[4] = redis.call('GET', KEYS[5] .. ':' .. string.sub(held, 1, 32)) or ''
elseif held ~= ':hf:+' and held ~= '' and not string.find(held, '^:hf:[sp]%d') then
    seen[1] = '?'
end

local places = redis.call('ZRANGE', KEYS[2], 0, -1, 'WITHSCORES')
for i = 1, #places, 2 do
    local want = string.match(redis.call('GET', KEYS[3] .. ':' .. places[i]) or '',
        '^%d+ %d+ (%a%d+/%d+) ')
    if want then
        local at = #seen
        seen[at + 1] = string.sub(places[i], 1, 12)
        seen[at + 2] = places[i + 1]
        seen[at + 3] = want
    end
end
return seen
