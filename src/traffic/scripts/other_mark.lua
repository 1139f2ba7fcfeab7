-- SPDX-License-Identifier: Apache-2.0
-- Is a value the mark of a once, or a lock's, and not a cooldown's? What an older version wrote, 16
-- hex digits for either, may be a cooldown's.

local function is_other_mark(value)
    local head = string.match(value, '^(%w*):')
    if not head then return false end
    return head == 'once' or ((#head == 16 or #head == 32) and not string.find(head, '%X'))
end
