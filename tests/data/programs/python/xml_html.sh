python3 - <<'PY'
import xml.etree.ElementTree as ET, html
from html.parser import HTMLParser
root = ET.fromstring('<lib><book id="1"><t>A &amp; B</t></book><book id="2"><t>C</t></book></lib>')
print([(b.get("id"), b.find("t").text) for b in root.iter("book")], root.find("book[@id='2']/t").text)
e = ET.SubElement(root, "book", id="3"); ET.SubElement(e, "t").text = "<new>"
ET.indent(root); ET.ElementTree(root).write("out.xml", encoding="unicode")
print(html.escape("<a href='x'>"), html.unescape("&lt;&eacute;&#39;"))
class P(HTMLParser):
    def handle_starttag(self, t, a): print("start", t, dict(a))
    def handle_data(self, d):
        if d.strip(): print("data", d.strip())
P().feed("<p class='x'>Hi <b>you</b></p>")
try: ET.fromstring("<a><b></a>")
except ET.ParseError as e: print("parse error", e.position)
PY
cat out.xml
