python3 - <<'PY'
import sys
print("a", "b", sep="-", end="!\n")
print("err", file=sys.stderr)
sys.stdout.write("no newline"); sys.stdout.flush()
sys.stdout.buffer.write(b"\nraw \xff\xfe bytes\n".replace(b"\xff\xfe", b"--"))
print(*[1, 2, 3], sep="\n")
print()
PY
