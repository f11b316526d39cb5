cat > data.json <<'J'
{"rows": [{"city": "Oslo", "temps": [1, 4, -3]}, {"city": "Rome", "temps": [12, 15, 11]}, {"city": "Lima", "temps": []}]}
J
cat > report.js <<'JS'
const fs = require('fs');
const { rows } = JSON.parse(fs.readFileSync('data.json', 'utf8'));
const mean = (list) => list.length ? list.reduce((a, b) => a + b, 0) / list.length : NaN;
for (const { city, temps } of rows) {
  const m = mean(temps);
  console.log(city.padEnd(6), Number.isNaN(m) ? 'n/a'.padStart(8) : m.toFixed(2).padStart(8), temps.length ? Math.max(...temps) : '-');
}
const t = rows.map((r) => r.temps);
console.log([0, 1, 2].map((i) => t.map((row) => row[i] ?? null)));
fs.writeFileSync('out.csv', rows.flatMap((r) => r.temps.map((v, i) => [r.city, i, v].join(','))).join('\n') + '\n');
console.log(rows.at(-1).city, structuredClone(rows[0]).temps);
JS
node report.js; cat out.csv; wc -l < out.csv
