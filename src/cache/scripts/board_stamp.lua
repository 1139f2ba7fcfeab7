-- SPDX-License-Identifier: Apache-2.0
-- When a score was reached: the earlier, the larger. A player's next stamp is another one than its
-- last, so that no two entries of a player are equal.

local function next_stamp(last)
    local seconds_and_rest = redis.call('TIME')
    local stamp = 9007199254740991 - seconds_and_rest[1] * 1000000 - seconds_and_rest[2]
    if last and stamp >= last then stamp = last - 1 end
    return string.format('%016.0f', stamp)
end

-- What a write makes of a score, nil: no score. Answers the new score, or nil if nothing changes.
local function next_score(how, score, given)
    if how == 'increase' then return (score or 0) + given end
    if how == 'best' and score and score >= given then return nil end
    return given
end
