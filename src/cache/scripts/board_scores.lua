-- SPDX-License-Identifier: Apache-2.0
-- The different scores of a sorted set of players, kept beside it for dense ranks.

-- One text for a score, whoever wrote it.
local function plain(score)
    return string.format('%.17g', tonumber(score))
end

local function add_player(players, scores, score, entry, dense)
    redis.call('ZADD', players, score, entry)
    if dense == '1' then redis.call('ZADD', scores, score, plain(score)) end
end
