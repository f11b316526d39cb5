printf 'id,name,price\n1,Widget,9.99\n2,"Gad, get",19.5\n3,"Quote ""q""",5\n' > in.csv
sqlite3 d.db ".mode csv" ".import in.csv items" "select sum(price) from items"; sqlite3 d.db ".import --csv --skip 1 in.csv items" "select count(*) from items" ".schema"
sqlite3 d.db "create table e(id integer primary key autoincrement, v text not null default 'x', w blob); create index e_v on e(v); create view ev as select v, w from e; insert into e(v,w) values('a''b',x'0102'),('l1
l2',null),('c',2.5); create table \"odd name\"(\"a b\"); insert into \"odd name\" values(1);"
sqlite3 d.db .dump; sqlite3 d.db .dump | sqlite3 copy.db; sqlite3 copy.db "select * from e; select * from ev; select count(*) from items"; sqlite3 d.db ".dump e" ".schema"
sqlite3 -header -csv d.db "select * from items where id < 3" > out.csv; cat out.csv; printf '7|seven\n8|eight\n' > l.txt; sqlite3 d.db "create table l(n int, t)" ".import l.txt l" "select *, typeof(n) from l"
printf '1,2,3\n4,5\n' > r.csv; sqlite3 d.db "create table r(a,b)" ".import --csv r.csv r" "select * from r" 2>/dev/null; sqlite3 d.db "vacuum; pragma integrity_check; pragma user_version=7"; sqlite3 d.db "pragma user_version"
