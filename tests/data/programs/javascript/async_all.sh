cat > a.mjs <<'JS'
const sleep = (ms, v) => new Promise((r) => setTimeout(r, ms, v));
console.log(await Promise.all([sleep(30, 'a'), sleep(10, 'b'), 'c']));
console.log(await Promise.race([sleep(50, 'slow'), sleep(5, 'fast')]), await Promise.any([Promise.reject(new Error('x')), sleep(1, 'any')]));
console.log(await Promise.allSettled([Promise.resolve(1), Promise.reject(new Error('no'))]).then((r) => r.map((x) => [x.status, x.value ?? x.reason.message])));
async function retry(f, n) { for (let i = 1; ; i++) try { return await f(i); } catch (e) { console.log('try', i, e.message); if (i === n) throw e; } }
console.log(await retry(async (i) => { if (i < 3) throw new Error('fail ' + i); return i; }, 5));
try { await Promise.any([Promise.reject(1), Promise.reject(2)]); } catch (e) { console.log(e.name, e.errors, e.message); }
async function* pages() { for (let i = 0; i < 3; i++) { await sleep(1); yield { i }; } }
const all = []; for await (const p of pages()) all.push(p); console.log(all);
const pool = async (jobs, n) => { const out = []; const it = jobs.entries(); await Promise.all(Array.from({ length: n }, async () => { for (const [i, j] of it) out[i] = await j(); })); return out; };
console.log(await pool([1, 2, 3, 4].map((x) => () => sleep(5 - x, x * x)), 2), Promise.resolve({ a: 1 }), Promise.reject(3).catch((x) => x), sleep(1));
import { setTimeout as wait } from 'timers/promises'; console.log(await wait(1, 'waited'));
JS
node a.mjs
