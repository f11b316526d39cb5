python3 - <<'PY'
import struct, binascii, base64, zlib, hashlib
data = struct.pack("<IhB3sd", 0xDEADBEEF, -2, 255, b"abc", 1.5)
print(data.hex(" "), struct.unpack("<IhB3sd", data), struct.calcsize("!IQ"))
print(base64.b64encode(b"hello\x00world"), base64.b64decode("aGVsbG8="), base64.urlsafe_b64encode(b"\xff\xfe"))
print(hex(zlib.crc32(b"hello")), hex(binascii.crc32(b"hello")), zlib.decompress(zlib.compress(b"x" * 1000)) == b"x" * 1000)
for n in ("md5", "sha1", "sha256", "sha512", "blake2b"):
    print(n, hashlib.new(n, b"hello").hexdigest()[:32])
print(int.from_bytes(b"\x01\x00", "big"), (1024).to_bytes(4, "little"), bytearray(b"ab") + b"c", memoryview(b"abc")[1])
PY
