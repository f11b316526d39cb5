for i in $(seq 200); do echo "2024-01-$(printf %02d $((i % 28 + 1))) $([ $((i % 7)) = 0 ] && echo ERROR || echo INFO) svc$((i % 3)) took $((i * 13 % 97))ms"; done > app.log
cat > report.js <<'JS'
#!/usr/bin/env node
'use strict';
const fs = require('fs');
const stats = {};
for (const line of fs.readFileSync(process.argv[2], 'utf8').trim().split('\n')) {
  const [, date, level, svc, ms] = /^(\S+) (\w+) (\w+) took (\d+)ms$/.exec(line);
  const s = (stats[svc] ??= { total: 0, errors: 0, times: [] });
  s.total++; if (level === 'ERROR') s.errors++; s.times.push(Number(ms));
}
const rows = Object.entries(stats).sort().map(([svc, { total, errors, times }]) => { times.sort((a, b) => a - b); return { svc, total, errors, p50: times[times.length >> 1], p95: times[Math.floor(times.length * 0.95)], mean: +(times.reduce((a, b) => a + b) / times.length).toFixed(1) }; });
console.table(rows);
fs.writeFileSync('report.md', ['| service | total | errors |', '|---|---:|---:|', ...rows.map((r) => `| ${r.svc} | ${r.total} | ${r.errors} |`)].join('\n') + '\n');
JS
node report.js app.log && cat report.md
