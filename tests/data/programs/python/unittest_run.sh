cat > calc.py <<'PY'
def add(a, b): return a + b
def div(a, b): return a / b
PY
cat > test_calc.py <<'PY'
import unittest, calc
class T(unittest.TestCase):
    def setUp(self): self.x = 2
    def test_add(self): self.assertEqual(calc.add(self.x, 2), 4)
    def test_div(self):
        with self.assertRaises(ZeroDivisionError): calc.div(1, 0)
    @unittest.skip("later")
    def test_skip(self): self.fail()
    def test_sub(self):
        for i in range(3):
            with self.subTest(i=i): self.assertLess(i, 3)
if __name__ == "__main__": unittest.main()
PY
python3 test_calc.py 2>&1 | sed 's/in [0-9.]*s/in Xs/'; python3 -m unittest test_calc 2>&1 | sed 's/in [0-9.]*s/in Xs/' | tail -3
sed -i 's/, 4)/, 5)/' test_calc.py; python3 -m unittest -q test_calc >/dev/null 2>&1; echo $?
