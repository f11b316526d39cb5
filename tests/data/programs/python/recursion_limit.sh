python3 - <<'PY'
import sys
print(sys.getrecursionlimit())
def f(n): return n if n == 0 else f(n - 1)
print(f(900))
try: f(5000)
except RecursionError as e: print("RecursionError")
d = 1
for _ in range(300): d = [d]
print(len(repr(d)))
PY
