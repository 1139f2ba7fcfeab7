-- SPDX-License-Identifier: Apache-2.0
-- Several limits at once, all or nothing: each is taken, and if one refuses, the others get back
-- what they gave. Every limit answers, so that the caller learns which one makes it wait longest.
--
-- KEYS  the state of each limit
-- ARGV  1 '' takes | look | give  then five for each limit: its kind and the ARGV of its own script
--       gcra:             g  cost      bound  parts of a microsecond  ''
--       fixed window:     f  how many  limit  window_ms               ''
--       sliding log:      l  how many  limit  window_us               ''
--       sliding counter:  c  how many  limit  width_us                parts
-- Answers an array with the answer of each.

--@include server_time.lua
--@include gcra.lua
--@include fixed_window.lua
--@include sliding_log.lua
--@include sliding_counter.lua

local function ask(i, op)
    local key, at = KEYS[i], 5 * i - 3
    local kind, a, b, c, d = ARGV[at], ARGV[at + 1], ARGV[at + 2], ARGV[at + 3], ARGV[at + 4]
    if kind == 'g' then return gcra(key, server_now, op == 'undo' and -tonumber(a) or a, b, c) end
    if op == 'undo' then op = 'give' end
    if kind == 'f' then return fixed_window(key, a, b, c, op) end
    if kind == 'l' then return sliding_log(key, server_now, a, b, c, op) end
    return sliding_counter(key, server_now, a, b, c, d, op)
end

local function allowed(i, answer)
    local at = 5 * i - 3
    if ARGV[at] ~= 'g' then return answer[1] == 1 end
    return answer + ARGV[at + 1] <= tonumber(ARGV[at + 2])
end

local op = ARGV[1] ~= '' and ARGV[1] or nil
local answers, taken = {}, {}
for i = 1, #KEYS do
    local good, answer = pcall(ask, i, op)
    if not good and type(answer) ~= 'table' then answer = redis.error_reply(answer) end
    if type(answer) == 'table' and answer.err then
        for _, other in ipairs(taken) do ask(other, 'undo') end
        return answer
    end
    answers[i] = answer
    if not op and allowed(i, answer) then taken[#taken + 1] = i end
end
if not op and #taken < #KEYS then
    for _, i in ipairs(taken) do ask(i, 'undo') end
end
return answers
