-- KEYS lock wait ver. ARGV mark_ms channel payload gone_payload. Replies 1.
local held = lease(KEYS[1])
if held then
  redis.call('DEL', KEYS[1])
  redis.call('PUBLISH', ARGV[2] .. string.match(held.claim, '^%x+'), ARGV[4])
end
void(KEYS[3], 0)
if redis.call('EXISTS', KEYS[2]) == 1 then
  wake(ARGV[2], longest(marks(KEYS[2], now(), tonumber(ARGV[1]))), ARGV[3])
end
return 1
