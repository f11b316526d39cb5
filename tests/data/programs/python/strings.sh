python3 - <<'PY'
import textwrap, string, unicodedata
s = "  Hello, Wörld! "
print(s.strip().upper(), s.split(), s.replace("l", "L"), s.find("W"), s.count("l"), s.strip().partition(", "))
print(f"{3.14159:.2f}|{42:>6}|{42:<6}|{42:^6}|{255:#x}|{255:08b}|{1234567.891:,.1f}|{0.256:.1%}|{'x':*^9}|{-5:+d}")
print("{0} {name!r:>8} {1[0]}".format("a", [9], name="n"), "%s-%05d-%.3e" % ("s", 42, 12345.678))
print(textwrap.fill("the quick brown fox jumps over the lazy dog " * 2, 30)); print(textwrap.dedent("   a\n     b").splitlines())
print(string.Template("$who owes ${amt}").substitute(who="Bo", amt=5), "a-b_c".translate(str.maketrans("-_", "+=")))
print("ß".casefold(), "éa".encode(), b"\xc3\xa9".decode(), "naïve".encode("latin-1"), unicodedata.normalize("NFD", "é").encode(), len("🙂"), ord("€"), chr(8364))
print(b"\xff\xfe".decode("utf-8", "replace"), "x".zfill(4), "tab\tsep".expandtabs(8), "a\nb\r\nc".splitlines(), "Title case me".title(), "abc".isalpha(), "12".isdigit())
try: b"\xff".decode()
except UnicodeDecodeError as e: print(e.reason, e.start)
x = 5; print(f"{x=} {x!r} {x:>{x}} {'nested ' + f'{x}'}")
print(repr("a'b\"c\n\x00\u2028"), ascii("é"), "ab" "cd", r"\n", "a,b,,c".split(","), "-".join("abc"), "abcabc".rsplit("b", 1), "x.y.z".rpartition("."), "abc".removeprefix("a"))
PY
