NAME=world python3 -c 'import os; print("hello", os.environ["NAME"]); os.environ["X"] = "1"; print(os.getenv("X"))'
export LEVEL=3; python3 -c 'import os; print(int(os.environ["LEVEL"]) + 1)'
local_only=5; python3 -c 'import os; print(os.environ.get("local_only"))'
python3 -c 'import os; print(os.path.expanduser("~") == os.environ["HOME"])'
