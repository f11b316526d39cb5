python3 - <<'PY'
import random
random.seed(42)
levels = ["INFO"] * 7 + ["WARN"] * 2 + ["ERROR"]
with open("app.log", "w") as f:
    for i in range(2000):
        print(f"2024-01-{i % 28 + 1:02d}T{i % 24:02d}:00:00 {levels[i % 10]} user{i % 13} took {i * 37 % 1000}ms", file=f)
PY
cat > analyse.py <<'PY'
import re, sys
from collections import Counter, defaultdict
levels, times = Counter(), defaultdict(list)
for line in open(sys.argv[1]):
    m = re.match(r"(\S+) (\w+) (\w+) took (\d+)ms", line)
    levels[m[2]] += 1; times[m[3]].append(int(m[4]))
print(levels)
for user, ts in sorted(times.items(), key=lambda kv: -max(kv[1]))[:3]:
    print(f"{user:8} n={len(ts)} avg={sum(ts) / len(ts):.1f} max={max(ts)}")
PY
python3 analyse.py app.log; grep -c ERROR app.log
