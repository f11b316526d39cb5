echo x > f
python3 - <<'PY'
import os, stat
os.chmod("f", 0o640)
s = os.stat("f"); print(stat.S_ISREG(s.st_mode), s.st_size)
os.utime("f", (1000000000, 1000000000)); print(int(os.stat("f").st_mtime))
PY
date -u -r f +%Y
