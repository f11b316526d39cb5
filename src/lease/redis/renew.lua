-- KEYS lock fence, for each lease. ARGV lease_ms, then claim fence for each lease.
-- Replies a list of 1 (still held) and 0.
local kept = {}
for i = 1, #KEYS / 2 do
  kept[i] = keep(KEYS[2 * i - 1], KEYS[2 * i], ARGV[2 * i], tonumber(ARGV[2 * i + 1]), 'e', ARGV[1])
end
return kept
