mkdir -p t/x/y t/z; touch t/a t/x/b t/x/y/c
python3 - <<'PY'
import os, stat
for d, dirs, files in os.walk("t"):
    dirs.sort()
    print(d, dirs, sorted(files))
os.makedirs("t/new/er", exist_ok=True)
os.rename("t/a", "t/new/a2")
print(sorted(os.listdir("t/new")), os.path.exists("t/a"), os.path.isdir("t/z"))
print(os.path.join("a", "b", "/c"), os.path.splitext("x.tar.gz"), os.path.basename("/q/w.e"), os.path.normpath("a/./b/../c"))
os.remove("t/x/b")
try:
    os.remove("t/none")
except FileNotFoundError as e:
    print(e.strerror, e.filename)
try:
    os.mkdir("t/z")
except FileExistsError as e:
    print(type(e).__name__)
with os.scandir("t") as it:
    print(sorted((e.name, e.is_dir()) for e in it))
print(os.sep, os.linesep == "\n", os.getcwd() == os.environ["PWD"], os.environ.get("NOPE", "unset"))
PY
