python3 - <<'PY'
import re
log = """2024-05-01 12:00:01 ERROR [db] timeout after 30s
2024-05-01 12:00:02 INFO [web] GET /index 200
2024-05-01 12:00:03 ERROR [web] GET /x 500"""
pat = re.compile(r"^(?P<day>\S+) (?P<time>\S+) (?P<level>[A-Z]+) \[(?P<mod>\w+)\] (?P<msg>.*)$", re.M)
for m in pat.finditer(log):
    print(m.group("level"), m["mod"], m.span(), m.groupdict()["msg"])
print(re.findall(r"\d+", "a1b22c333"), re.split(r"[,;]\s*", "a, b;c"))
print(re.sub(r"(\w+)@(\w+)\.com", r"\2 at \1", "me@site.com you@place.com"))
print(re.sub(r"\b(\w)", lambda m: m.group(1).upper(), "some words here"))
print(re.match(r"(a+)(b*)$", "aaab").groups(), re.search("(?i)HELLO", "say hello").start())
print(re.fullmatch(r"(?:\d{1,3}\.){3}\d{1,3}", "192.168.0.1") is not None)
try:
    re.compile("(")
except re.error as e:
    print("error:", e)
PY
