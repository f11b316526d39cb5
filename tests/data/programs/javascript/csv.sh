printf 'name,qty,price\n"Smith, J",3,2.50\nBrown,10,0.99\n"Q ""x""",1,100\n' > in.csv
cat > a.js <<'JS'
const fs = require('fs');
function parse(text) {
  const rows = []; let row = [], cell = '', quoted = false;
  for (let i = 0; i < text.length; i++) {
    const c = text[i];
    if (quoted) { if (c === '"') { if (text[i + 1] === '"') { cell += '"'; i++; } else quoted = false; } else cell += c; }
    else if (c === '"') quoted = true; else if (c === ',') { row.push(cell); cell = ''; } else if (c === '\n') { row.push(cell); rows.push(row); row = []; cell = ''; } else cell += c;
  }
  return rows;
}
const [head, ...rows] = parse(fs.readFileSync('in.csv', 'utf8'));
const items = rows.map((r) => Object.fromEntries(r.map((v, i) => [head[i], isNaN(v) ? v : +v])));
console.table(items);
console.log(items.reduce((s, i) => s + i.qty * i.price, 0).toFixed(2), items);
console.table([[1, 'a'], [2, 'b']]); console.table(['x', 'y']); console.table(items, ['name']); console.table(5); console.table({ a: { b: 1 }, c: { d: [1, 2] } }); console.table(new Map([['k', 1]]));
JS
node a.js
