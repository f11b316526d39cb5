python3 -c 'import sys; sys.exit(3)'; echo $?
python3 -c 'import sys; sys.exit("message")' 2>/dev/null; echo $?
python3 -c 'import sys; sys.exit("message")' 2>&1
python3 -c 'raise SystemExit'; echo $?
python3 -c '1/0' 2>/dev/null; echo $?
python3 -c 'exit(7)'; echo $?
python3 -c 'import os; print("a", flush=True); os._exit(9)'; echo $?
python3 -c 'syntax error here' 2>/dev/null; echo $?
python3 nosuchfile.py 2>/dev/null; echo $?
python3 -c 'import sys; sys.exit(300)'; echo $?
python3 -c 'pass' && echo ok || echo bad
python3 -m nosuchmod 2>/dev/null; echo $?
