python3 - <<'PY'
from urllib.parse import urlparse, parse_qs, urlencode, quote, unquote, urljoin
u = urlparse("https://user:pw@host.com:8080/p/a?x=1&y=2&x=3#frag")
print(u.scheme, u.hostname, u.port, u.path, parse_qs(u.query), u.fragment)
print(urlencode({"q": "a b&c", "n": 1}), quote("a b/ü"), unquote("%C3%BC"), urljoin("http://a/b/c", "../d"))
import ipaddress
print(ipaddress.ip_address("10.0.0.1").is_private, list(ipaddress.ip_network("10.0.0.0/30").hosts()))
PY
