cat > data.json <<'J'
{"users": [{"name": "Ann", "age": 31, "tags": ["a", "b"]}, {"name": "Bo", "age": 25, "tags": []}], "meta": {"n": 2, "ok": true, "none": null}}
J
cat > a.js <<'JS'
const fs = require('fs'), data = require('./data.json');
data.users.sort((a, b) => a.age - b.age);
for (const u of data.users) u.adult = u.age >= 30;
fs.writeFileSync('out.json', JSON.stringify(data, null, 2));
console.log(data, JSON.stringify(data.users.map(({ name, ...rest }) => rest)));
console.log(JSON.stringify({ d: new Date(0), u: undefined, f() {}, n: NaN, s: 'é"\n', nested: [undefined] }, null, '\t'));
console.log(JSON.parse('[1,{"a":"\\u00e9"}]', (k, v) => (typeof v === 'number' ? v + 1 : v)));
try { JSON.parse('{bad'); } catch (e) { console.log(e.name, e instanceof SyntaxError); }
const c = {}; c.c = c; try { JSON.stringify(c); } catch (e) { console.log(e.name); }
JS
node a.js && cat out.json
