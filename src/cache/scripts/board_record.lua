-- SPDX-License-Identifier: Apache-2.0
-- A player's record on a segmented board: entries 'score:stamp', separated by blanks.
--
-- The first is what counts ('-:stamp': removed). Those behind it may still be in their segments. An
-- entry with a '*' has a writer that is not known to have finished: it may still add the entry.

local function read_record(text)
    local entries = {}
    for entry in string.gmatch(text or '', '%S+') do entries[#entries + 1] = entry end
    return entries
end
