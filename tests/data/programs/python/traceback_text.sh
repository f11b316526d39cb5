cat > bad.py <<'PY'
def inner(x):
    return x["key"]

def outer():
    inner({})

outer()
PY
python3 bad.py 2>&1 | grep -v '\^\|~' | sed 's|"/.*/|"|'
python3 -c '
try:
    try:
        int("x")
    except ValueError as e:
        raise RuntimeError("wrapped") from e
except RuntimeError as e:
    print(type(e.__cause__).__name__, e.__cause__)'
python3 - <<'PY'
import traceback
def f(): raise KeyError("missing")
try:
    f()
except KeyError:
    lines = traceback.format_exc().splitlines()
    print(lines[0], lines[-1])
PY
