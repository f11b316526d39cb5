seq 1 1000 | python3 -c '
import sys
for line in sys.stdin:
    n = int(line)
    if n % 7 == 0: print(n)' | tail -3 | python3 -c 'import sys; print([int(x) for x in sys.stdin.read().split()])'
echo '{"a": [1, 2, {"b": 3}]}' | python3 -m json.tool | head -3
printf 'b\na\n' | python3 -c 'import sys; sys.stdout.writelines(sorted(sys.stdin))' > sorted.txt; cat sorted.txt
python3 -c 'for i in range(100000): print(i)' | head -2
