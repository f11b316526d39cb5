python3 - <<'PY'
def quick(a): return a if len(a) < 2 else quick([x for x in a[1:] if x < a[0]]) + [a[0]] + quick([x for x in a[1:] if x >= a[0]])
def merge(a):
    if len(a) < 2: return a
    m = len(a) // 2; l, r = merge(a[:m]), merge(a[m:]); out = []
    while l and r: out.append((l if l[0] <= r[0] else r).pop(0))
    return out + l + r
data = [(i * 7919) % 1009 for i in range(400)]
print(quick(data) == sorted(data) == merge(data), quick(data)[:5])
def lev(a, b):
    p = list(range(len(b) + 1))
    for i, x in enumerate(a, 1):
        q = [i]
        for j, y in enumerate(b, 1): q.append(min(p[j] + 1, q[-1] + 1, p[j - 1] + (x != y)))
        p = q
    return p[-1]
print(lev("kitten", "sitting"))
from heapq import heappush, heappop
g = {"a": {"b": 1, "c": 4}, "b": {"c": 2, "d": 5}, "c": {"d": 1}, "d": {}}
def dijkstra(s):
    dist, h = {s: 0}, [(0, s)]
    while h:
        d, u = heappop(h)
        for v, w in g[u].items():
            if d + w < dist.get(v, 1e9): dist[v] = d + w; heappush(h, (d + w, v))
    return dist
print(dijkstra("a"))
def queens(n, row=0, cols=()):
    if row == n: return 1
    return sum(queens(n, row + 1, cols + (c,)) for c in range(n) if all(c != k and abs(c - k) != row - r for r, k in enumerate(cols)))
print([queens(n) for n in range(1, 7)])
PY
