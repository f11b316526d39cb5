python3 - <<'PY'
import itertools as it, functools, operator, contextlib
def fib():
    a, b = 0, 1
    while True:
        yield a
        a, b = b, a + b
print(list(it.islice(fib(), 15)))
def acc():
    total = 0
    while True:
        x = yield total
        if x is None: return total
        total += x
g = acc(); next(g); print(g.send(5), g.send(7))
def outer():
    r = yield from inner()
    yield f"got {r}"
def inner():
    yield 1; yield 2
    return "ret"
print(list(outer()))
print([list(v) for k, v in it.groupby("aabbbc")], list(it.combinations("abc", 2)), list(it.product([1, 2], "x")))
print(functools.reduce(operator.mul, range(1, 6)), list(it.accumulate([1, 2, 3])), list(it.chain([1], [2], (3,))), list(zip("ab", it.count(1))))
print(list(it.pairwise([1, 2, 4])), list(it.zip_longest("ab", "c", fillvalue="-")))
@contextlib.contextmanager
def tag(n):
    print(f"<{n}>")
    try: yield n
    finally: print(f"</{n}>")
with tag("a") as t, tag("b"): print(t)
@functools.lru_cache(None)
def f(n): return n if n < 2 else f(n - 1) + f(n - 2)
print(f(80), f.cache_info().hits)
PY
