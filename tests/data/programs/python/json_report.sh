cat > people.json <<'J'
[{"name": "Ann", "age": 31, "tags": ["a", "b"]}, {"name": "Bo", "age": 25, "tags": []}, {"name": "Zoë", "age": 40, "tags": ["c"]}]
J
python3 - <<'PY'
import json
people = json.load(open("people.json"))
print(json.dumps(people, indent=2, sort_keys=True))
print(json.dumps(people, ensure_ascii=False, separators=(",", ":")))
old = [p["name"] for p in people if p["age"] > 30]
print(old, sum(p["age"] for p in people) / len(people))
try:
    json.loads('{"a": 1 2}')
except json.JSONDecodeError as e:
    print("bad json at", e.lineno, e.colno)
with open("out.json", "w") as f:
    json.dump({"old": old, "n": None, "t": True, "f": 1.5}, f)
PY
cat out.json
