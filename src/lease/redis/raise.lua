-- KEYS lock fence. ARGV claim floor. Replies the new token as text, or '' if the claim
-- does not hold the lease.
local held = lease(KEYS[1])
if not held or held.claim ~= ARGV[1] then return '' end
local fence = next_fence(KEYS[2], math.max(tonumber(ARGV[2]), held.fence))
local value = held.claim .. ' ' .. whole(fence) .. ' ' .. held.kind .. ' ' .. held.ms
redis.call('SET', KEYS[1], value, 'KEEPTTL')
return whole(fence)
