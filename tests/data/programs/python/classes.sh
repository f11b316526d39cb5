python3 - <<'PY'
from dataclasses import dataclass, field, asdict, replace
from enum import Enum, auto, Flag
from abc import ABC, abstractmethod
from functools import total_ordering
@dataclass(order=True)
class Item:
    price: float
    name: str = field(compare=False)
    tags: list[str] = field(default_factory=list, compare=False)
a, b = Item(2.5, "b"), Item(1.0, "a", ["x"])
print(sorted([a, b]), asdict(b), replace(a, name="c"), a > b)
class Color(Enum):
    RED = 1
    GREEN = auto()
print(Color.RED, Color["GREEN"].value, list(Color), Color(2).name)
class Shape(ABC):
    @abstractmethod
    def area(self): ...
    def __repr__(self): return f"{type(self).__name__}({self.area()})"
class Sq(Shape):
    __slots__ = ("s",)
    def __init__(self, s): self.s = s
    @property
    def side(self): return self.s
    @side.setter
    def side(self, v):
        if v < 0: raise ValueError("negative")
        self.s = v
    def area(self): return self.s ** 2
    def __eq__(self, o): return isinstance(o, Sq) and o.s == self.s
    def __hash__(self): return hash(self.s)
try: Shape()
except TypeError as e: print(str(e)[:30])
s = Sq(3); s.side = 4; print(s, s == Sq(4), {s, Sq(4)}, Sq.__mro__[1].__name__)
try: s.side = -1
except ValueError as e: print(e)
class Meta(type):
    def __new__(m, n, b, d): return super().__new__(m, n, b, {**d, "made": n.lower()})
class M(metaclass=Meta): pass
print(M.made)
@dataclass(frozen=True, slots=True)
class P: x: int; y: int = 0
try: P(1).x = 2
except Exception as e: print(type(e).__name__)
PY
