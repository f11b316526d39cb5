-- KEYS alive, then lock fence for each lease. ARGV lease_ms, then claim fence for each.
-- Replies a list of 1 (still held, now confirmed) and 0.
redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[1])
local kept = {}
for i = 1, (#KEYS - 1) / 2 do
  kept[i] = keep(KEYS[2 * i], KEYS[2 * i + 1], ARGV[2 * i], tonumber(ARGV[2 * i + 1]), 'c', ARGV[1])
end
return kept
