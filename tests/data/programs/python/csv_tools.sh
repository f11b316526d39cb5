cat > sales.csv <<'C'
day,item,qty,price
2024-01-01,"apple, red",3,0.50
2024-01-01,pear,2,0.75
2024-01-02,"quote ""q""",1,10
C
python3 - <<'PY'
import csv, collections, io
rows = list(csv.DictReader(open("sales.csv", newline="")))
by_day = collections.defaultdict(float)
for r in rows:
    by_day[r["day"]] += int(r["qty"]) * float(r["price"])
print(dict(by_day))
print([r["item"] for r in rows])
out = io.StringIO()
w = csv.writer(out, quoting=csv.QUOTE_MINIMAL)
w.writerow(["x,y", 'say "hi"', "line\nbreak", 1.5, None])
print(repr(out.getvalue()))
with open("sorted.csv", "w", newline="") as f:
    w = csv.DictWriter(f, fieldnames=["item", "qty"], extrasaction="ignore", lineterminator="\n")
    w.writeheader()
    w.writerows(sorted(rows, key=lambda r: r["item"]))
PY
cat sorted.csv
