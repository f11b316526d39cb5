cat > tool.py <<'PY'
import argparse, sys
def add(a): print(a.x + a.y)
def greet(a): print("hello " * a.times + a.name)
p = argparse.ArgumentParser(prog="tool")
s = p.add_subparsers(dest="cmd", required=True)
q = s.add_parser("add"); q.add_argument("x", type=float); q.add_argument("y", type=float); q.set_defaults(f=add)
q = s.add_parser("greet"); q.add_argument("name"); q.add_argument("--times", type=int, default=1); q.set_defaults(f=greet)
a = p.parse_args()
a.f(a)
PY
python3 tool.py add 1 2.5; python3 tool.py greet Bo --times 2; python3 tool.py greet; echo $?
