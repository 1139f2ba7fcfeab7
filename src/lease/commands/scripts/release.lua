-- SPDX-License-Identifier: Apache-2.0
-- Ends the owner's lease, and hands on what is free then to those in the queue that live.
--
-- KEYS  1 lock  2 line  3 waiters  4 fence counter  5 holders  6 limit  7 evicted  8 boot (only if
--       every grant must be careful)
-- ARGV  1 owner  2 '1': forget the place in the queue that it may have had ('0': that was done)
--       3 quarantine_ms
-- Answers 1 released | 0 it was not the owner's (any more) | the words of whoever took it away.

local lock, line, waiters, counter = KEYS[1], KEYS[2], KEYS[3], KEYS[4]
local holders, limit, evicted, boot = KEYS[5], KEYS[6], KEYS[7], KEYS[8]
local owner = ARGV[1]

local held = redis.call('GET', lock) or ''
local alone = string.sub(held, 1, #owner + 4) == owner .. ':hf:'
if alone and string.sub(held, -1) ~= '+' then
    redis.call('DEL', lock, waiters .. ':' .. owner)
    return code.released
end
if not alone and string.sub(held, 1, 4) ~= ':hf:' then
    return redis.call('HGET', evicted, owner) or code.not_held
end

-- The usual handoff, from one holder to one: the first in the queue lives, is heard, and wants it
-- exclusively. The server may have slept until now, and whatever it has not done for a while takes
-- long: so this makes as few calls as it can, no text of a number for the usual claim and no spare
-- fences, and none of the functions that everything else needs (queue.lua says what it does here,
-- and what the numbers mean). It does not write down when the next one got it, and leaves it to
-- that one's release to forget its place in the queue. What does not fit or goes wrong here, is met
-- there again.
local how = string.sub(held, #owner + 5, #owner + 5)
if alone and not boot and how ~= 's' and how ~= 'p' and
    redis.call('PTTL', lock) > constant.slack_ms then
    local first = redis.call('ZRANGE', line, '0', '1')
    local heir = first[1]
    local place = heir and redis.call('GET', waiters .. ':' .. heir) or ''
    local claim, spare, channel
    -- Nearly always, and sooner than a pattern.
    if string.sub(place, 1, 12) == 'constant.usual_claim_ms 0 x1/1 ' then
        claim, spare, channel = 'constant.usual_claim_ms', '0', string.sub(place, 13)
    else
        claim, spare, channel = string.match(place, '^(%d+) (%d+) x1/1 (.*)$')
    end
    if claim and #claim > 3 then  -- a brief one is told of to the next in the queue: below
        local top = redis.pcall('INCRBY', counter, spare == '0' and '1' or 1 + spare)
        if type(top) == 'number' and top >= constant.least_fence then
            local fence = spare == '0' and redis.call('GET', counter) or
                string.format('%.0f', top - spare)
            local verb = string.sub(channel, 1, 1) == '{' and 'SPUBLISH' or 'PUBLISH'
            if redis.call(verb, channel, heir .. ' ' .. fence .. ' ' .. claim) > 0 then
                local value, ms = heir .. ':hf:' .. fence, claim
                if first[2] then
                    value = value .. '+'
                    ms = claim == 'constant.usual_claim_ms' and
                        'constant.usual_claim_and_slack_ms' or claim + constant.slack_ms
                end
                redis.call('SET', lock, value, 'PX', ms)
                redis.call('ZREM', line, heir)
                if ARGV[2] == '1' then redis.call('DEL', waiters .. ':' .. owner) end
                return code.released
            end
        end
    end
end

--@include queue.lua
--@include boot.lua
--@include holders.lua
--@include handoff.lua
--@include next.lua

local state = look()
if not drop(state, owner) then return redis.call('HGET', evicted, owner) or code.not_held end
let_next(state)
return code.released
