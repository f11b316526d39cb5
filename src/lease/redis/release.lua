-- KEYS lock wait. ARGV claim owner mark_ms channel payload. Replies 1.
local held = lease(KEYS[1])
if held and held.claim == ARGV[1] then
  redis.call('DEL', KEYS[1])
  held = nil
end
-- Nobody waits in the ordinary case: one call tells.
if redis.call('EXISTS', KEYS[2]) == 1 then
  local found = marks(KEYS[2], now(), tonumber(ARGV[3]))
  unmark(KEYS[2], found, ARGV[2], tonumber(string.match(ARGV[1], '%d+$')))
  if not held then wake(ARGV[4], longest(found), ARGV[5]) end
end
return 1
