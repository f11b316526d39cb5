python3 - <<'PY'
from decimal import Decimal, getcontext, ROUND_HALF_UP
from fractions import Fraction
import math, statistics, cmath
print(Decimal("0.1") + Decimal("0.2"), Decimal(1) / Decimal(7), Decimal("2.675").quantize(Decimal("0.01"), ROUND_HALF_UP))
getcontext().prec = 50; print(Decimal(2).sqrt())
print(Fraction(1, 3) + Fraction(1, 6), Fraction("0.125"), float(Fraction(22, 7)))
print(math.factorial(30), math.gcd(84, 36), math.comb(10, 3), math.isclose(0.1 + 0.2, 0.3), math.floor(-1.5), math.hypot(3, 4), math.log2(1024), math.sqrt(2))
print(statistics.mean([1, 2, 3, 4]), statistics.median([3, 1, 2]), round(statistics.stdev([2, 4, 4, 4, 5, 5, 7, 9]), 6), statistics.mode("aab"))
print(0.1 + 0.2, 1e308 * 10, float("nan") != float("nan"), round(2.5), round(-1.275, 2), 5 // 0.3, divmod(-7, 3), pow(3, -1, 11), 10 ** -3, 1e16, 1e15, 123456789.123456789)
print(cmath.sqrt(-1), (1 + 2j) * (3 - 1j), abs(3 + 4j), int("ff", 16), bin(10), oct(8), hex(-255), 0b1010 ^ 0b11, ~5, -8 >> 1, 1_000_000)
print((123).bit_length(), float.hex(0.5), (0.75).as_integer_ratio(), int(-3.9), bool("False"), complex("1+2j"), math.fsum([0.1] * 10))
PY
