cat > cli.py <<'PY'
import argparse
p = argparse.ArgumentParser(prog="cli.py", description="Count things.")
p.add_argument("files", nargs="+")
p.add_argument("-n", "--number", type=int, default=3)
p.add_argument("-v", "--verbose", action="store_true")
p.add_argument("--mode", choices=["fast", "slow"], default="fast")
a = p.parse_args()
print(a.files, a.number, a.verbose, a.mode)
PY
python3 cli.py a b -n 5 -v --mode slow
python3 cli.py x
python3 cli.py 2>/dev/null; echo "exit $?"
python3 cli.py a -n five 2>&1 | tail -1
