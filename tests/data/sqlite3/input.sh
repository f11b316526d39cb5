printf 'create table p(id integer primary key, name text);\ninsert into p(name) values (\x27ann\x27), (\x27bo;b\x27);\n-- a comment;\nselect * from p;\n.mode csv\n.headers on\nselect name,\n  id\nfrom p;\n' | sqlite3 p.db
printf 'select count(*) from p;\n' | sqlite3 p.db; printf 'select 1' | sqlite3; echo 'select 1; select 2;' | sqlite3
cat > s.sql <<'SQL'
CREATE TRIGGER tr AFTER INSERT ON p BEGIN
  INSERT INTO log VALUES (new.name);
  SELECT 1;
END;
CREATE TABLE log(x);
INSERT INTO p(name) VALUES('cy');
SQL
sqlite3 p.db < s.sql; sqlite3 p.db "select * from log; select * from p" ".read s.sql" 2>/dev/null; echo $?
sqlite3 p.db ".tables" ".schema p" ".indexes"; sqlite3 p.db "begin; insert into p(name) values('lost')"; sqlite3 p.db "select count(*) from p"
sqlite3 -cmd ".mode json" p.db "select max(id) m from p"; echo "select 7;" | sqlite3 -batch -cmd ".headers on" :memory:
sqlite3 p.db ".print hello world" ".output o.txt" "select 1" ".output" "select 2" ".once o2.txt" "select 3"; cat o.txt o2.txt
