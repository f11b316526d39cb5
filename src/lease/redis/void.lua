-- KEYS ver. ARGV block_ms. Replies 1.
void(KEYS[1], tonumber(ARGV[1]))
return 1
