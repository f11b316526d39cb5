cat > g.mjs <<'JS'
function* naturals(from = 1) { while (true) yield from++; }
function* take(n, it) { for (const x of it) { if (n-- <= 0) return; yield x; } }
const primes = function* () { outer: for (const n of naturals(2)) { for (let d = 2; d * d <= n; d++) if (n % d === 0) continue outer; yield n; } };
console.log([...take(10, primes())]);
class Tree { constructor(v, l, r) { Object.assign(this, { v, l, r }); } *[Symbol.iterator]() { if (this.l) yield* this.l; yield this.v; if (this.r) yield* this.r; } }
console.log([...new Tree(4, new Tree(2, new Tree(1)), new Tree(6))]);
const it = (function* () { try { const x = yield 1; console.log('got', x); yield 2; } finally { console.log('closed'); } })();
console.log(it.next(), it.next('hi'), it.return(9), it.next());
async function* ticks() { for (let i = 0; i < 3; i++) { await new Promise((r) => setTimeout(r, 1)); yield i; } }
for await (const t of ticks()) console.log('tick', t);
console.log(Array.from({ length: 3 }, (_, i) => i * i), Object.entries({ a: 1, b: 2 }).map(([k, v]) => k + v), [...'héy'].length);
const { a, ...rest } = { a: 1, b: 2, c: 3 }; console.log(a, rest, [..."ab"].entries().next().value);
JS
node g.mjs
