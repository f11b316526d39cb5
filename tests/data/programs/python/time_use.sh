python3 - <<'PY'
import time
t = time.perf_counter(); time.sleep(0.05); e = time.perf_counter() - t
print(0.05 <= e < 5, time.time() > 1.7e9, time.strftime("%Y-%m-%d", time.gmtime(86400)), time.monotonic() > 0)
import calendar
print(calendar.month(2024, 2)); print(calendar.isleap(2024), calendar.monthrange(2023, 2)[1])
PY
