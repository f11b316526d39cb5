-- KEYS lock fence wait ver. ARGV claim owner floor lease_ms mark_ms evict channel payload.
-- Replies {1, fence, hint or ''} or {0, ms left or -1, confirmed claim or ''}.
local claim, owner, floor = ARGV[1], ARGV[2], tonumber(ARGV[3])
local lease_ms, mark_ms = tonumber(ARGV[4]), tonumber(ARGV[5])
local number = tonumber(string.match(claim, '%d+$'))
local held = lease(KEYS[1])
if held and held.claim == claim then
  if held.kind == 'e' then redis.call('PEXPIRE', KEYS[1], held.ms) end
  unmark(KEYS[3], marks(KEYS[3], now(), mark_ms), owner, number)
  return { 1, whole(held.fence), '' }
end
local evicted = held and held.kind == 'c' and held.claim == ARGV[6]
if evicted then
  floor = math.max(floor, held.fence)
  redis.call('DEL', KEYS[1])
  held = nil
end
local now = now()
local found = marks(KEYS[3], now, mark_ms)
if not held then
  local first = longest(found)
  if not first or first == owner then
    unmark(KEYS[3], found, owner, number)
    local fence = next_fence(KEYS[2], floor)
    put(KEYS[1], claim, fence, 'e', lease_ms)
    return { 1, whole(fence), take_hint(KEYS[4], claim) }
  end
  if evicted then wake(ARGV[7], first, ARGV[8]) end
end
mark(KEYS[3], found, owner, number, now + mark_ms, mark_ms)
return { 0, held and held.left or -1, held and held.kind == 'c' and held.claim or '' }
