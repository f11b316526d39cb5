mkdir -p lib app; echo 'NAME = "from lib"' > lib/thing.py; echo 'import thing; print(thing.NAME)' > app/main.py
PYTHONPATH=lib python3 app/main.py
python3 app/main.py 2>&1 | tail -1
python3 -c 'import sys; sys.path.insert(0, "lib"); import thing; print(thing.NAME)'
