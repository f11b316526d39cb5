-- KEYS lock wait ver. ARGV claim owner mark_ms channel payload hint wrote. Replies 1.
local held = lease(KEYS[1])
local mine = held and held.claim == ARGV[1]
if mine then
  redis.call('DEL', KEYS[1])
  held = nil
end
put_hint(KEYS[3], ARGV[1], mine, ARGV[6], ARGV[7] == '1')
-- Nobody waits in the ordinary case: one call tells.
if redis.call('EXISTS', KEYS[2]) == 1 then
  local found = marks(KEYS[2], now(), tonumber(ARGV[3]))
  unmark(KEYS[2], found, ARGV[2], tonumber(string.match(ARGV[1], '%d+$')))
  if not held then wake(ARGV[4], longest(found), ARGV[5]) end
end
return 1
