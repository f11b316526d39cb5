mkdir -p src/a/b docs; echo 1 > src/one.py; echo 22 > src/a/two.py; echo 333 > src/a/b/three.txt; echo d > docs/index.md
python3 - <<'PY'
from pathlib import Path
root = Path(".")
for p in sorted(root.rglob("*")):
    print(p.as_posix(), "dir" if p.is_dir() else p.stat().st_size)
print(sorted(p.name for p in root.glob("src/**/*.py")))
p = Path("src/a/two.py")
print(p.stem, p.suffix, p.parent, p.parts, p.with_suffix(".bak"), p.exists(), (root / "none").exists())
Path("new/deep/dir").mkdir(parents=True)
q = Path("new/deep/dir/f.txt")
q.write_text("héllo\n", encoding="utf-8")
print(q.read_text(encoding="utf-8"), q.read_bytes(), q.stat().st_size)
q.rename("new/moved.txt")
print(sorted(x.name for x in Path("new").iterdir()), q.exists())
Path("new/moved.txt").unlink()
Path("new/deep/dir").rmdir()
try:
    Path("src").rmdir()
except OSError as e:
    print(type(e).__name__, e.strerror)
print(Path("/a/b/../c").resolve(), Path("src/a").relative_to("src"))
PY
ls new new/deep
