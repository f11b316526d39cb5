python3 - <<'PY'
from unittest import mock
import os
m = mock.Mock(return_value=3)
print(m(1, a=2), m.call_args, m.call_count)
m.side_effect = [1, ValueError("no")]
print(m())
try: m()
except ValueError as e: print(e)
with mock.patch("os.getcwd", return_value="/fake"):
    print(os.getcwd())
with mock.patch.dict(os.environ, {"X": "1"}):
    print(os.environ["X"])
f = mock.mock_open(read_data="text")
with mock.patch("builtins.open", f):
    print(open("any").read())
f.assert_called_once_with("any")
PY
