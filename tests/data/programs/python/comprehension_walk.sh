python3 - <<'PY'
matrix = [[i * j for j in range(4)] for i in range(4)]
print(matrix, [x for row in matrix for x in row if x % 2], {k: v for k, v in zip("abc", range(3))}, {x % 3 for x in range(9)})
primes = [n for n in range(2, 60) if all(n % d for d in range(2, int(n ** .5) + 1))]
print(primes, sum(x * x for x in primes))
print(sorted(["b", "A", "c"], key=str.lower), sorted([(1, "b"), (1, "a")]), list(enumerate("ab", 1)), list(reversed([1, 2])), list(filter(None, [0, 1, "", "x"])))
print([*map(lambda x, y: x + y, [1, 2], [3, 4])], min([3, 1, 2]), abs(-3), isinstance(True, int), type(5).__name__, id(None) == id(None))
def f(a, /, b, *args, c=3, **kw): return a, b, args, c, kw
print(f(1, 2, 3, c=4, d=5), (lambda *a: a)(1, 2))
x = 10
def g():
    global x
    x += 1
    def h():
        nonlocal_y = 1
        return x + nonlocal_y
    return h()
print(g(), x)
PY
