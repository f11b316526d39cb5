mkdir -p a/b; echo one > a/1.txt; echo two > a/b/2.txt
python3 - <<'PY'
import shutil, os
shutil.copy("a/1.txt", "copy.txt")
shutil.copytree("a", "tree")
shutil.move("tree/b", "moved")
print(sorted(os.listdir("tree")), sorted(os.listdir("moved")), open("copy.txt").read())
shutil.rmtree("tree")
print(os.path.exists("tree"), shutil.which("nosuchprogram"))
with open("copy.txt", "rb") as f, open("again.txt", "wb") as g:
    shutil.copyfileobj(f, g)
PY
cat again.txt; ls
