-- SPDX-License-Identifier: Apache-2.0
-- See board_scores.lua.

local function remove_player(players, scores, score, entry, dense)
    local gone = redis.call('ZREM', players, entry)
    if dense == '1' and redis.call('ZCOUNT', players, score, score) == 0 then
        redis.call('ZREM', scores, plain(score))
    end
    return gone
end
