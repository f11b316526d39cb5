python3 - <<'PY'
block = bytes(range(256)) * 4096
with open("big.bin", "wb") as f:
    for i in range(20):
        f.write(block)
import os, zlib
print(os.path.getsize("big.bin"))
crc = 0
with open("big.bin", "rb") as f:
    for piece in iter(lambda: f.read(1 << 20), b""):
        crc = zlib.crc32(piece, crc)
print(crc)
with open("big.bin", "r+b") as f:
    f.seek(10 << 20); f.write(b"marker")
PY
wc -c < big.bin; tail -c +10485761 big.bin | head -c 6
