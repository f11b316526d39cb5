cat > greet.py <<'PY'
import sys
if __name__ == "__main__":
    print(__name__, sys.argv[0], sys.argv[1:], len(sys.argv))
PY
python3 greet.py one "two three" ''
mkdir -p tools && cp greet.py tools/ && python3 tools/greet.py x
