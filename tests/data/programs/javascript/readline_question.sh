cat > q.mjs <<'JS'
import readline from 'node:readline/promises';
const rl = readline.createInterface({ input: process.stdin, output: process.stdout });
const name = await rl.question('name? '); console.log(`hello ${name}`); rl.close();
JS
printf 'Ann\n' | node q.mjs
cat > r.js <<'JS'
const rl = require('readline').createInterface({ input: require('fs').createReadStream('q.mjs'), crlfDelay: Infinity });
let n = 0; rl.on('line', () => n++).on('close', () => console.log('lines', n));
JS
node r.js
