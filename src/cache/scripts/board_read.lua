-- SPDX-License-Identifier: Apache-2.0
-- Reads a board that is one sorted set: a player, the players around it, or a page.
--
-- KEYS  1 players  2 members  3 scores (see board_write.lua)
-- ARGV  1 member, or nothing for a page  2 how many to skip  3 how many: around a player, so many
--       before and behind it  4 dense: 1 or 0
-- Answers {players, players above the first, players with a higher score, different higher scores,
-- entry, score, …} | {} there is no such player.

local from, to, rows
if ARGV[1] == '' then
    from = tonumber(ARGV[2])
    to = from + ARGV[3] - 1
else
    local kept = redis.call('HGET', KEYS[2], ARGV[1])
    local entry = kept and string.sub(kept, 1, 17) .. ARGV[1]
    local at = entry and redis.call('ZREVRANK', KEYS[1], entry)
    if not at then return {} end
    from = math.max(0, at - ARGV[3])
    to = at + ARGV[3]
    if ARGV[3] == '0' then rows = {entry, string.sub(kept, 18)} end
end
rows = rows or redis.call('ZREVRANGE', KEYS[1], string.format('%.0f', from),
    string.format('%.0f', to), 'WITHSCORES')
local answer = {redis.call('ZCARD', KEYS[1]), from, 0, 0}
if rows[2] then
    answer[3] = redis.call('ZCOUNT', KEYS[1], '(' .. rows[2], '+inf')
    if ARGV[4] == '1' then
        answer[4] = redis.call('ZCOUNT', KEYS[3], '(' .. rows[2], '+inf')
    end
end
for _, text in ipairs(rows) do answer[#answer + 1] = text end
return answer
