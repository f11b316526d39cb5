-- Shared by all lease scripts. A key that holds garbage (another type, text that is
-- not ours, a time to live that cannot be) is mended or removed where it is met: it
-- must never make a sandbox unusable.

-- Tokens above this are not exact in Lua's numbers with room to count on.
local MAX_FENCE = 2 ^ 52
-- The counter of a sandbox that nobody wrote for a day is forgotten; the row in SQL
-- knows the highest token that committed.
local FENCE_MS = 86400000
local MAX_LEASE_MS = 3600000
-- A confirmed lease stands as long as its owner's liveness, and each heartbeat confirms it
-- anew. When its owner is gone and nobody asks for the sandbox again, the key ends so.
local CONFIRMED_MS = 3600000

local function text(key)
  local value = redis.pcall('GET', key)
  if type(value) == 'table' then
    redis.call('DEL', key)
    return false
  end
  return value
end

-- Keeps a key's time to live within what was meant. The server's wall clock may have
-- been set back: then a dead holder's lease would stand for as long as that.
local function left(key, ms)
  local left = redis.call('PTTL', key)
  if left < 0 or left > ms then
    redis.call('PEXPIRE', key, ms)
    return ms
  end
  return left
end

local function whole(value)
  return string.format('%.0f', value)
end

-- A lease: "claim fence kind ms", kind e (expires after ms) or c (confirmed).
local function lease(key)
  local value = text(key)
  if not value then return nil end
  local claim, fence, kind, ms = string.match(value, '^(%x+%-%d+) (%d+) ([ec]) (%d+)$')
  fence, ms = tonumber(fence), tonumber(ms)
  if not claim or ms < 1 or ms > MAX_LEASE_MS or fence > 2 * MAX_FENCE then
    redis.call('DEL', key)
    return nil
  end
  local held = { claim = claim, fence = fence, kind = kind, ms = ms }
  if kind == 'e' then held.left = left(key, ms) end
  return held
end

local function put(key, claim, fence, kind, ms)
  local value = claim .. ' ' .. whole(fence) .. ' ' .. kind .. ' ' .. ms
  if kind == 'e' then
    redis.call('SET', key, value, 'PX', ms)
  else
    redis.call('SET', key, value, 'PX', CONFIRMED_MS)
  end
end

-- The counter of fencing tokens, or nil.
local function counter(key, floor)
  local value = text(key)
  local number = value and string.match(value, '^%d+$') and tonumber(value)
  if number and number <= math.max(MAX_FENCE, floor + 2 ^ 32) then return number end
  return nil
end

local function next_fence(key, floor)
  local fence = math.max(counter(key, floor) or 0, floor) + 1
  redis.call('SET', key, whole(fence), 'PX', FENCE_MS)
  return fence
end

-- Waiting marks: a hash of owner → "place until number", until by the server's clock,
-- number that of the owner's youngest waiting claim. Only fairness hangs on that clock;
-- a mark of the far future is garbage.
local function now()
  local time = redis.call('TIME')
  return time[1] * 1000 + math.floor(time[2] / 1000)
end

local function marks(key, now, ms)
  local all = redis.pcall('HGETALL', key)
  if all.err then
    redis.call('DEL', key)
    return {}
  end
  local found = {}
  for i = 1, #all, 2 do
    local place, till, number = string.match(all[i + 1], '^(%d+) (%d+) (%d+)$')
    place, till, number = tonumber(place), tonumber(till), tonumber(number)
    if place and till > now and till <= now + 4 * ms and place < MAX_FENCE then
      found[all[i]] = { place = place, number = number }
    else
      redis.call('HDEL', key, all[i])
    end
  end
  return found
end

local function mark(key, found, owner, number, till, ms)
  local mine, place = found[owner], 0
  if mine then
    place, number = mine.place, math.max(mine.number, number)
  else
    for _, other in pairs(found) do place = math.max(place, other.place + 1) end
  end
  redis.call('HSET', key, owner, whole(place) .. ' ' .. whole(till) .. ' ' .. whole(number))
  redis.call('PEXPIRE', key, 4 * ms)
end

-- Takes the claim's mark away, unless a younger claim of the owner waits.
local function unmark(key, found, owner, number)
  local mine = found[owner]
  if mine and mine.number <= number then
    redis.call('HDEL', key, owner)
    found[owner] = nil
  end
end

local function longest(found)
  local who, least
  for owner, mark in pairs(found) do
    local place = mark.place
    if not who or place < least or (place == least and owner < who) then
      who, least = owner, place
    end
  end
  return who
end

local function wake(channel, owner, payload)
  if owner and string.match(owner, '^%x+$') then redis.call('PUBLISH', channel .. owner, payload) end
end

-- The version hint: "= state run" (set under that run of the server), "? claim" (pending:
-- taken by that claim), "!" (void for as long as the key lives). Other text is as none.
-- A hint that nobody took for a day is forgotten.
local HINT_MS = 86400000

local function run_id()
  local info = redis.pcall('INFO', 'server')
  return type(info) == 'string' and string.match(info, 'run_id:(%x+)') or nil
end

local function usable(value)
  local state, run = string.match(value or '', '^= (%x+) (%x+)$')
  if state and #state == 32 and run == run_id() then return state end
  return ''
end

local function is_void(key, value)
  if value ~= '!' then return false end
  left(key, MAX_LEASE_MS)
  return true
end

local function take_hint(key, claim)
  local value = text(key)
  if is_void(key, value) then return '' end
  redis.call('SET', key, '? ' .. claim, 'PX', HINT_MS)
  return usable(value)
end

local function void(key, ms)
  if ms > 0 then
    redis.call('SET', key, '!', 'PX', ms)
  elseif not is_void(key, text(key)) then
    redis.call('DEL', key)
  end
end

-- Sets the hint, or drops it, as a release says. Only who holds the lease, and under
-- whose claim it is pending, sets it: whoever dropped it meanwhile knew better.
local function put_hint(key, claim, holds, state, wrote)
  if not holds then
    if wrote then void(key, 0) end
  elseif text(key) == '? ' .. claim then
    local run = state ~= '' and run_id()
    if run then
      redis.call('SET', key, '= ' .. state .. ' ' .. run, 'PX', HINT_MS)
    else
      redis.call('DEL', key)
    end
  end
end

-- Begins the lease time anew, or confirms, where the claim still holds the lease;
-- restores it where the server lost both the lease and its counter.
local function keep(key, fences, claim, fence, kind, ms)
  local held = lease(key)
  if held then
    if held.claim ~= claim then return 0 end
    if held.kind == 'e' then
      if kind == 'c' then
        put(key, claim, held.fence, 'c', ms)
      else
        redis.call('PEXPIRE', key, held.ms)
      end
    elseif kind == 'c' then
      redis.call('PEXPIRE', key, CONFIRMED_MS)
    end
    return 1
  end
  if counter(fences, fence) then return 0 end
  put(key, claim, fence, 'e', ms)
  redis.call('SET', fences, whole(fence), 'PX', FENCE_MS)
  return 1
end
