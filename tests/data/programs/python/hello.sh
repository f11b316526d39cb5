python3 -c 'print("hello", 1 + 1, 7 // 2, -7 // 2, 7 % 3, 2 ** 100, 1 / 3)'
python3 -c 'import sys; print(sys.argv)' a "b c" --flag
