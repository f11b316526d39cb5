python3 - <<'PY'
import pickle, copy, shelve, marshal
class C:
    def __init__(self): self.x = [1, {"a": (2, 3)}]
c = C()
d = pickle.loads(pickle.dumps(c)); print(d.x, d is c)
s, p = copy.copy(c.x), copy.deepcopy(c.x); c.x[1]["a"] = 0; print(s, p)
with open("o.pkl", "wb") as f: pickle.dump({"k": [1, 2]}, f)
print(pickle.load(open("o.pkl", "rb")))
PY
