-- KEYS ver. Replies the state that the hint names, or ''.
return usable(text(KEYS[1]))
