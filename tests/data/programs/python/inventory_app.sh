cat > inventory.py <<'PY'
"""A small inventory kept in JSON."""
import json, os, sys
DB = "inventory.json"
def load(): return json.load(open(DB)) if os.path.exists(DB) else {}
def save(d):
    with open(DB + ".tmp", "w") as f: json.dump(d, f, indent=1, sort_keys=True)
    os.replace(DB + ".tmp", DB)
def main(argv):
    d = load()
    match argv:
        case ["add", name, qty]: d[name] = d.get(name, 0) + int(qty); save(d)
        case ["remove", name, qty]:
            if d.get(name, 0) < int(qty): print("not enough", name, file=sys.stderr); return 2
            d[name] -= int(qty); save(d)
        case ["list"]:
            for k, v in sorted(d.items()): print(f"{k:10}{v:5}")
        case _: print(__doc__); return 1
    return 0
if __name__ == "__main__": sys.exit(main(sys.argv[1:]))
PY
python3 inventory.py add bolts 10; python3 inventory.py add nuts 5; python3 inventory.py remove bolts 3
python3 inventory.py list; python3 inventory.py remove nuts 50; echo "exit $?"; python3 inventory.py; cat inventory.json
