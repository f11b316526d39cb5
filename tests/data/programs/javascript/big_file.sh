cat > a.js <<'JS'
const fs = require('fs'), crypto = require('crypto');
const line = 'x'.repeat(79) + '\n';
fs.writeFileSync('big', line.repeat(262144));
const t = fs.readFileSync('big', 'utf8');
console.log(t.length, t.split('\n').length, fs.statSync('big').size);
const b = fs.readFileSync('big'); b[5] = 65; fs.writeFileSync('big2', b);
console.log(crypto.createHash('sha256').update(b).digest('hex'), fs.readFileSync('big2').subarray(0, 8).toString());
let n = 0; fs.createReadStream('big').on('data', (c) => (n += c.length)).on('end', () => { console.log('streamed', n); });
JS
node a.js; wc -c big big2
