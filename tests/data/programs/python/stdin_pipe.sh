printf '3 apples\n5 pears\n2 plums\n' | python3 -c '
import sys
total = 0
for line in sys.stdin:
    n, what = line.split()
    total += int(n)
    print(f"{what:>10} {int(n):03d}")
print("total", total)'
echo 'print(sum(range(10)))' | python3
echo 'print("dash", __name__)' | python3 -
seq 1 5 | python3 -c 'print(sum(int(x) for x in open(0)))'
