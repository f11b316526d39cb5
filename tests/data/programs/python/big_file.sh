python3 - <<'PY'
block = bytes(range(256)) * 4096
with open("big.bin", "wb") as f:
    for i in range(20):
        f.write(block)
import os, hashlib
print(os.path.getsize("big.bin"))
h = hashlib.sha256()
with open("big.bin", "rb") as f:
    for piece in iter(lambda: f.read(1 << 20), b""):
        h.update(piece)
print(h.hexdigest())
with open("big.bin", "r+b") as f:
    f.seek(10 << 20); f.write(b"marker")
PY
sha256sum < big.bin; wc -c < big.bin; tail -c +10485761 big.bin | head -c 6
