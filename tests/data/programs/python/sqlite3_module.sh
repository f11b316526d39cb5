python3 - <<'PY'
import sqlite3
db = sqlite3.connect("app.db")
db.row_factory = sqlite3.Row
db.executescript("create table people(id integer primary key, name text unique, age int); create index by_age on people(age);")
with db:
    db.executemany("insert into people(name, age) values(?, ?)", [("Ann", 31), ("Bo", 25), ("Cy", 40)])
for row in db.execute("select * from people where age > :a order by age desc", {"a": 26}):
    print(row["id"], row["name"], tuple(row), row.keys())
print(db.execute("select count(*), avg(age) from people").fetchone()[:])
try:
    with db:
        db.execute("insert into people(name) values('Dee')")
        db.execute("insert into people(name) values('Ann')")
except sqlite3.IntegrityError as e:
    print("integrity", e)
print([r[0] for r in db.execute("select name from people order by name")])
db.create_function("twice", 1, lambda x: 2 * x)
print(db.execute("select twice(21)").fetchone()[0], db.total_changes)
db.close()
again = sqlite3.connect("app.db")
print(again.execute("select name from people where id = 2").fetchall())
mem = sqlite3.connect(":memory:"); print(mem.execute("select 1 + 1").fetchone())
PY
ls app.db
