-- SPDX-License-Identifier: Apache-2.0
-- KEYS  1 counts
-- ARGV  1 how many  2 limit  3 width_us of a part  4 parts, negative for unbiased  [5 look | give]
-- Answers as sliding_counter.lua.

--@include server_time.lua
--@include sliding_counter.lua

return sliding_counter(KEYS[1], server_now, ARGV[1], ARGV[2], ARGV[3], ARGV[4], ARGV[5])
