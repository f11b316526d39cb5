mkdir real; echo data > real/f; ln -s real link; ln -s nowhere dangling
python3 - <<'PY'
import os
print(os.path.islink("link"), os.readlink("link"), os.path.isdir("link"), os.listdir("link"), os.path.exists("dangling"), os.path.lexists("dangling"))
print(open("link/f").read(), os.path.realpath("link/f").endswith("real/f"))
os.symlink("real/f", "py")
print(open("py").read(), os.lstat("py").st_size, os.stat("py").st_size)
os.unlink("dangling")
PY
readlink py; ls
