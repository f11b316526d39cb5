cat > app.ini <<'I'
[server]
host = localhost
port = 8080
debug = yes
[paths]
root = /srv
log = %(root)s/log
I
cat > app.toml <<'T'
title = "App"
[db]
ports = [8000, 8001]
when = 2024-05-01T10:00:00Z
[[users]]
name = "a"
T
python3 - <<'PY'
import configparser, tomllib
c = configparser.ConfigParser(); c.read("app.ini")
print(c.sections(), c["server"].getint("port"), c["server"].getboolean("debug"), c["paths"]["log"], c.get("server", "none", fallback="fb"))
c["new"] = {"a": "1"}; c.write(open("out.ini", "w"))
t = tomllib.load(open("app.toml", "rb")); print(t["db"]["ports"], t["db"]["when"], t["users"])
PY
tail -3 out.ini
