-- SPDX-License-Identifier: Apache-2.0
-- KEYS  1 counter
-- ARGV  1 how many  2 limit  3 window_ms  [4 told | look | give]
-- Answers as fixed_window.lua.

--@include fixed_window.lua

return fixed_window(KEYS[1], ARGV[1], ARGV[2], ARGV[3], ARGV[4])
