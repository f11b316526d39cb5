python3 - <<'PY'
from collections import Counter, deque, OrderedDict, namedtuple, ChainMap, defaultdict
import heapq, bisect
words = "the cat and the dog and the bird".split()
c = Counter(words); print(c.most_common(2), c["none"], c - Counter(["the"]))
d = deque([1, 2, 3], maxlen=3); d.append(4); d.rotate(1); print(d)
P = namedtuple("P", "x y"); p = P(1, y=2); print(p, p._asdict(), p._replace(x=5))
print(ChainMap({"a": 1}, {"a": 2, "b": 3})["b"], list(OrderedDict(a=1, b=2)))
h = [5, 1, 4]; heapq.heapify(h); heapq.heappush(h, 0); print([heapq.heappop(h) for _ in range(4)], heapq.nlargest(2, [3, 9, 1]))
l = [1, 3, 5]; bisect.insort(l, 4); print(l, bisect.bisect_left(l, 3))
s = {3, 1, 2}; print(s | {9}, s & {1}, s ^ {1, 7}, frozenset(s) <= s)
x = {"b": 1, "a": 2}; x |= {"c": 3}; print(x, sorted(x.items(), key=lambda kv: -kv[1]), {v: k for k, v in x.items()})
a, *rest, z = range(6); print(a, rest, z, [*rest, *"ab"], {**x, "b": 0})
m = [[1, 2, 3], [4, 5, 6]]; print(list(map(list, zip(*m))), sum(m, []), [row[::-1] for row in m])
print(list(range(10))[2:8:3], "hello"[::-1], [1, 2] * 2, (1,) + (2,), any([0, 1]), all([]), max("ab", "c", key=len))
PY
