sqlite3 e.db "create table u(a unique)"; sqlite3 e.db "insert into u values(1),(1)" 2>/dev/null; echo $?; sqlite3 e.db "select * from u"
sqlite3 e.db "selec" 2>/dev/null; echo $?; sqlite3 e.db "select * from nope" 2>/dev/null; echo $?
printf 'select 1;\nselect nope;\nselect 2;\n' | sqlite3 e.db 2>/dev/null; echo $?; printf 'select 1;\nselect nope;\nselect 2;\n' | sqlite3 -bail e.db 2>/dev/null; echo $?
sqlite3 e.db ".nope" 2>/dev/null; echo $?; echo 'not a database at all, really not one of those files' > bad.db; sqlite3 bad.db "select * from sqlite_master" 2>/dev/null; echo $?
sqlite3 --nope 2>/dev/null; echo $?; sqlite3 -readonly e.db "insert into u values(5)" 2>/dev/null; echo $?; sqlite3 e.db "select * from u"; ls
sqlite3 e.db "select * from nope" 2>&1 | head -1; printf 'select 1;\n\nselect x\nfrom u;\n' | sqlite3 e.db 2>&1 | head -2; sqlite3 e.db "insert into u values(3),(3)" 2>&1 | head -1
