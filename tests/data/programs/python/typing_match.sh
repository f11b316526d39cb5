python3 - <<'PY'
from typing import TypedDict, Protocol, Generic, TypeVar, Optional, get_type_hints, Literal, NamedTuple
def handle(cmd):
    match cmd:
        case ["go", ("north" | "south") as d]: return f"going {d}"
        case ["add", *nums] if all(isinstance(n, int) for n in nums): return sum(nums)
        case {"type": "point", "x": x, **rest}: return (x, rest)
        case str(s): return s.upper()
        case [] | None: return "nothing"
        case int() | float(): return "number"
        case _: return "?"
for c in (["go", "north"], ["add", 1, 2], {"type": "point", "x": 1, "y": 2}, "abc", [], 5, object):
    print(handle(c))
class Movie(TypedDict, total=False):
    name: str
class P(NamedTuple):
    a: int
    b: str = "d"
T = TypeVar("T")
class Box(Generic[T]):
    def __init__(self, v: T): self.v = v
print(get_type_hints(P), Box[int], list[dict[str, int]], int | None, P(1))
if (n := len("walrus")) > 3: print(n)
PY
