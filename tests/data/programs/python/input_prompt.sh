printf 'Ann\n42\n' | python3 -c '
name = input()
age = int(input())
print(name, age + 1)
try:
    input()
except EOFError:
    print("eof")'
