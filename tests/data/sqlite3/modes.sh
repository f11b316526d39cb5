sqlite3 t.db "create table t(a integer primary key, b text, c real, d blob); insert into t values(1,'one',1.5,x'00ff'),(2,'it''s \"two\"',100.0,null),(3,null,1e20,'text'),(4,'line
two',-0.5,''),(5,'ä,b',3,'x y');"
for m in list csv json line quote tabs; do echo "== $m"; sqlite3 -$m t.db "select a, b, c from t"; sqlite3 -$m -header t.db "select * from t where a in (2,3,5)"; sqlite3 -$m t.db "select * from t where 0"; done
for m in column box table markdown; do echo "== $m"; sqlite3 -$m t.db "select a, c, b from t where a != 4"; sqlite3 -$m -header t.db "select count(*) as n, 'longer text' as x from t"; done
sqlite3 t.db ".mode column" "select a, b from t where a < 3" ".headers off" "select a from t" ".mode insert tab" "select a,b,c,d from t" ".mode list" ".separator ;" "select a,c from t where a=1" ".nullvalue NIL" "select b from t where a=3"
sqlite3 -separator ' - ' t.db "select a, b from t where a=1"; sqlite3 -nullvalue N t.db "select null, 1"; sqlite3 -json t.db "select 1 as 'a b', 'é' as \"q\"\"\""
