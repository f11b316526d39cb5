name=Ann; n=3
python3 - "$name" <<PY
import sys
print("from shell: $name", sys.argv[1], $n * 2)
PY
result=$(python3 -c "print($n ** 2)"); echo "squared: $result"
for i in 1 2 3; do python3 -c "print('item', $i)"; done
if python3 -c 'import sys; sys.exit(0 if 5 > 3 else 1)'; then echo yes; fi
