cat > m.py <<'PY'
def square(x):
    """Square.

    >>> square(3)
    9
    >>> square("a")
    Traceback (most recent call last):
    TypeError: can't multiply sequence by non-int of type 'str'
    """
    return x * x
PY
python3 -m doctest m.py && echo passed
python3 -m doctest -v m.py | tail -3 | head -1
