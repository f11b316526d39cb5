-- KEYS alive. ARGV lease_ms. Replies 1 or 0. Garbage says neither that the owner lives
-- nor that it is dead: it gets one more liveness time to say so itself.
local value = redis.pcall('GET', KEYS[1])
if not value then return 0 end
local ms = type(value) == 'string' and string.match(value, '^%d+$') and tonumber(value)
if not ms or ms < 1 or ms > MAX_LEASE_MS then
  redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[1])
  return 1
end
left(KEYS[1], ms)
return 1
