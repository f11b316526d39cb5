TZ=UTC python3 - <<'PY'
from datetime import datetime, date, timedelta, timezone
d = datetime(2024, 2, 28, 23, 30, tzinfo=timezone.utc)
print(d + timedelta(hours=1), (d + timedelta(days=2)).strftime("%a %d %b %Y %H:%M"))
print(d.isoformat(), datetime.fromisoformat("2024-03-01T12:00:00+02:00").astimezone(timezone.utc))
print(date(2024, 12, 25) - date(2024, 7, 1), date(2024, 1, 1).isocalendar()[:2])
print(datetime.strptime("03/04/2021 05:06", "%d/%m/%Y %H:%M"))
print(timedelta(seconds=90061), timedelta(days=-1, hours=3), d.timestamp())
print(datetime.fromtimestamp(0, timezone.utc), d.weekday(), d.replace(day=1).date())
tz = timezone(timedelta(hours=5, minutes=30))
print(d.astimezone(tz), tz)
PY
