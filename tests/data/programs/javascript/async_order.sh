cat > a.js <<'JS'
console.log('1 sync');
setTimeout(() => { console.log('timeout 0'); setImmediate(() => { console.log('immediate'); process.nextTick(() => console.log('tick in immediate')); }); }, 0);
setTimeout(() => console.log('timeout 400'), 400);
process.nextTick(() => console.log('tick'));
Promise.resolve().then(() => { console.log('micro 1'); process.nextTick(() => console.log('tick in micro')); }).then(() => console.log('micro 2'));
queueMicrotask(() => console.log('queueMicrotask'));
(async () => { console.log('async start'); await null; console.log('async after'); for await (const x of (async function* () { yield 1; yield 2; })()) console.log('item', x); })();
let n = 0; const i = setInterval(() => { console.log('interval', ++n); if (n === 3) clearInterval(i); }, 20);
const t = setTimeout(() => console.log('never'), 5); clearTimeout(t);
console.log('2 sync');
process.on('exit', (c) => console.log('exit', c));
JS
node a.js
