mkdir -p pkg/sub
cat > pkg/__init__.py <<'PY'
"""A package."""
from .core import area
__all__ = ["area"]
VERSION = "1.2"
PY
cat > pkg/core.py <<'PY'
import math
def area(r): return round(math.pi * r * r, 3)
PY
echo 'from ..core import area; DOUBLE = area(1) * 2' > pkg/sub/__init__.py
cat > pkg/__main__.py <<'PY'
import sys
from . import VERSION
print("main of", __package__, VERSION, sys.argv[1:])
PY
cat > main.py <<'PY'
import pkg, pkg.sub, helper
from pkg import *
print(pkg.__doc__, area(2), pkg.sub.DOUBLE, helper.double(4), helper.__name__)
import importlib
print(importlib.import_module("pkg.core").area(1))
try:
    import nosuchmodule
except ModuleNotFoundError as e:
    print(e, e.name)
try:
    from pkg import nothing
except ImportError as e:
    print(type(e).__name__, e.name)
PY
echo 'def double(x): return 2 * x' > helper.py
python3 main.py; python3 -m pkg a b; ls pkg
