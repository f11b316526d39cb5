printf 'name: Ann\nage: 31\n\nname: Bo\nage: 25\n' > data.txt
python3 - <<'PY'
blocks = open("data.txt").read().strip().split("\n\n")
rows = [dict(l.split(": ", 1) for l in b.splitlines()) for b in blocks]
w = max(len(r["name"]) for r in rows)
for r in rows: print(f"| {r['name']:<{w}} | {int(r['age']):>4} |")
text = open("data.txt").read().replace("name", "NAME")
open("data.txt", "w").write(text)
PY
head -2 data.txt; python3 -c "
import fileinput
for line in fileinput.input('data.txt', inplace=True):
    print(line.rstrip().lower())"; cat data.txt
