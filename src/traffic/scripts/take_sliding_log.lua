-- SPDX-License-Identifier: Apache-2.0
-- KEYS  1 log
-- ARGV  1 how many  2 limit  3 window_us  [4 look | give]
-- Answers as sliding_log.lua.

--@include server_time.lua
--@include sliding_log.lua

return sliding_log(KEYS[1], server_now, ARGV[1], ARGV[2], ARGV[3], ARGV[4])
