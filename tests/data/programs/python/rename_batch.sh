for i in 1 2 3; do echo "n $i" > "IMG_$i.JPG"; done
python3 - <<'PY'
import os, re, glob
for f in sorted(glob.glob("*.JPG")):
    new = re.sub(r"IMG_(\d+)\.JPG", lambda m: f"photo-{int(m[1]):03}.jpg", f)
    os.rename(f, new); print(f, "->", new)
PY
ls; cat photo-002.jpg
