python3 - <<'PY'
with open("f.txt", "w") as f:
    print("line 1", file=f)
    f.writelines(["line 2\n", "line 3\n"])
with open("f.txt", "a") as f:
    f.write("line 4\n")
with open("f.txt", "r+") as f:
    f.seek(5); f.write("X"); f.seek(0)
    print(f.readline(), f.tell(), f.readlines())
with open("f.txt", "rb") as f:
    f.seek(-7, 2); print(f.read(), f.tell())
try:
    open("f.txt", "x")
except FileExistsError as e:
    print("exists", e.filename)
try:
    open("nodir/f", "w")
except FileNotFoundError as e:
    print(e.strerror, e.filename)
try:
    open("f.txt").write("x")
except Exception as e:
    print(type(e).__name__, e)
with open("f.txt", "r+") as f:
    f.truncate(6)
print(repr(open("f.txt").read()))
with open("b.bin", "wb") as f:
    f.write(bytes(range(256)))
print(open("b.bin", "rb").read()[250:], len(open("b.bin", "rb").read()))
PY
wc -c f.txt b.bin; md5sum b.bin
