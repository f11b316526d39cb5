printf 'a\000b\377c' | python3 -c 'import sys; d = sys.stdin.buffer.read(); print(len(d), d)'
python3 -c 'import sys; sys.stdout.buffer.write(bytes(range(256)))' > all.bin; wc -c < all.bin; md5sum < all.bin
