-- SPDX-License-Identifier: Apache-2.0
-- The header of an entry (cache_entry.hpp): offsets as GETRANGE and SETRANGE count them.
--
-- 0..2 'hc1'  3 kind  4..19 soft expiry, server us  20..29 how long the load took, us
-- 30..45 lease until, server us  46..77 token  78.. value

local seconds_and_rest = redis.call('TIME')
local server_now = seconds_and_rest[1] * 1000000 + seconds_and_rest[2]
