python3 - <<'PY'
from pprint import pprint, pformat
pprint({"name": "x" * 30, "list": list(range(30)), "nested": {"a": [{"b": "c" * 20}] * 2}})
print(pformat([1, [2, [3]]], width=5))
import reprlib, difflib
print(reprlib.repr("x" * 100))
print("\n".join(difflib.unified_diff(["a", "b", "c"], ["a", "x", "c"], "old", "new", lineterm="")))
print(difflib.get_close_matches("appel", ["ape", "apple", "peach"]))
PY
