cat > a.mjs <<'JS'
import { Readable, Writable, Transform, PassThrough, pipeline } from 'stream'; import { pipeline as pipe } from 'stream/promises'; import fs from 'fs'; import zlib from 'zlib';
const upper = () => new Transform({ transform(c, e, cb) { cb(null, c.toString().toUpperCase()); } });
fs.writeFileSync('in.txt', 'hello\nworld\n');
await pipe(fs.createReadStream('in.txt'), upper(), fs.createWriteStream('out.txt'));
console.log(fs.readFileSync('out.txt', 'utf8'));
const chunks = []; await pipe(Readable.from(['a', 'b', 'c']), new Writable({ write(c, e, cb) { chunks.push(c.toString()); cb(); } })); console.log(chunks);
await pipe(Readable.from([{ n: 1 }, { n: 2 }]), async function* (src) { for await (const o of src) yield JSON.stringify(o) + '\n'; }, fs.createWriteStream('o.jsonl')); console.log(fs.readFileSync('o.jsonl', 'utf8'));
const r = new Readable({ read() {} }); r.push('x'); r.push('y'); r.push(null); let s = ''; for await (const c of r) s += c; console.log(s);
const w = fs.createWriteStream('w.txt'); for (let i = 0; i < 1000; i++) w.write(`line ${i}\n`); w.end(() => console.log('written', fs.statSync('w.txt').size)); await new Promise((r) => w.on('close', r));
await new Promise((r) => fs.createReadStream('nope').on('error', (e) => { console.log(e.code); r(); }));
console.log(zlib.gunzipSync(zlib.gzipSync('zip me')).toString(), zlib.inflateSync(zlib.deflateSync(Buffer.from('z'))).toString());
try { await pipe(fs.createReadStream('in.txt'), new Transform({ transform(c, e, cb) { cb(new Error('bad')); } }), new PassThrough()); } catch (e) { console.log('pipeline', e.message); }
console.log(await Readable.from([1, 2, 3]).map((x) => x * 2).toArray());
process.stdout.write('no newline'); process.stdout.write('\n');
JS
node a.mjs
