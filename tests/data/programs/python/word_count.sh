for i in 1 2 3; do echo "the quick fox $i jumps over the lazy dog; The END, the end." > "t$i.txt"; done
cat > wc.py <<'PY'
import glob, re, sys
from collections import Counter
total = Counter()
for name in sorted(glob.glob(sys.argv[1])):
    words = re.findall(r"[a-z]+", open(name).read().lower())
    total.update(words)
    print(f"{name}: {len(words)} words, {len(set(words))} different")
for word, count in sorted(total.items(), key=lambda item: (-item[1], item[0]))[:5]:
    print(f"{word:<8}{'#' * count} {count}")
PY
python3 wc.py 't*.txt'; python3 wc.py 'none*.txt'; echo "exit $?"
