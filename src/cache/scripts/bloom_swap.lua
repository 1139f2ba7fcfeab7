-- SPDX-License-Identifier: Apache-2.0
-- Puts a rebuilt filter in the place of the old one.
--
-- KEYS  1 old about  2 old bits  3 new about  4 new bits
-- Answers 1. A new filter that nothing was added to takes the old one away.

for i = 1, 2 do
    if redis.call('EXISTS', KEYS[i + 2]) == 1 then
        redis.call('RENAME', KEYS[i + 2], KEYS[i])
    else
        redis.call('DEL', KEYS[i])
    end
end
return 1
