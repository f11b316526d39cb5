python3 - <<'PY'
import tempfile, os
with tempfile.TemporaryDirectory() as d:
    p = os.path.join(d, "f")
    open(p, "w").write("x")
    print(os.listdir(d))
print(os.path.exists(d))
with tempfile.NamedTemporaryFile("w+", suffix=".txt") as f:
    f.write("abc"); f.flush(); f.seek(0)
    print(f.read(), f.name.endswith(".txt"))
with tempfile.TemporaryFile() as f:
    f.write(b"q"); f.seek(0); print(f.read())
PY
