-- SPDX-License-Identifier: Apache-2.0
-- KEYS  1 state
-- ARGV  1 cost (negative gives back, 0 only looks)  2 bound  [3 parts of a microsecond  [4 floor]]
-- Answers the level before the charge, an integer.

--@include server_time.lua
--@include gcra.lua

return gcra(KEYS[1], server_now, ARGV[1], ARGV[2], ARGV[3], ARGV[4])
