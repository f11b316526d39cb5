cat > run.py <<'PY'
#!/usr/bin/env python3
import sys
print("args", sys.argv[1:])
PY
chmod +x run.py
./run.py a b
