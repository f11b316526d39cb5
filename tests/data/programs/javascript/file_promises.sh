cat > a.mjs <<'JS'
import fs, { readFileSync } from 'node:fs';
import { readFile, writeFile, mkdir, readdir, stat, rm } from 'fs/promises';
await mkdir('d/e', { recursive: true });
await Promise.all(['x', 'y', 'z'].map((n, i) => writeFile(`d/${n}.txt`, String(i))));
console.log((await readdir('d')).sort(), readFileSync('d/y.txt', 'utf8'));
console.log((await stat('d')).isDirectory(), (await stat('d/x.txt')).size);
const h = await fs.promises.open('d/x.txt', 'r+');
const { bytesRead, buffer } = await h.read(Buffer.alloc(4), 0, 4, 0);
console.log(bytesRead, buffer);
await h.close();
await rm('d', { recursive: true });
fs.readFile('a.mjs', 'utf8', (e, text) => { console.log(e, text.length > 10); fs.writeFile('o', 'k', (e) => console.log(e, readFileSync('o') + '')); });
JS
node a.mjs
