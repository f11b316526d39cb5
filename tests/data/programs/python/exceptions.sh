python3 - <<'PY'
class AppError(Exception):
    def __init__(self, code, msg):
        super().__init__(msg); self.code = code
def risky(n):
    if n == 1: raise AppError(42, "app failed")
    if n == 2: return [][0]
    if n == 3: return {}["k"]
    if n == 4: return int("abc")
    if n == 5: return None.attr
    if n == 6: return "a" + 1
    if n == 7: assert n == 8, "n must be 8"
    return n
for n in range(1, 9):
    try:
        r = risky(n)
    except AppError as e:
        print("app", e.code, e)
    except (IndexError, KeyError) as e:
        print(type(e).__name__, e)
    except Exception as e:
        print(type(e).__name__, "|", e)
    else:
        print("ok", r)
    finally:
        print("done", n)
try:
    raise ExceptionGroup("many", [ValueError("a"), TypeError("b")])
except* ValueError as g:
    print("values", g.exceptions)
except* TypeError as g:
    print("types", g.exceptions)
e = ValueError("x"); e.add_note("a note"); print(e.__notes__)
PY
