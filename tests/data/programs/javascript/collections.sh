node -e '
const words = "the cat the dog a cat the".split(" ");
const count = words.reduce((m, w) => m.set(w, (m.get(w) ?? 0) + 1), new Map());
console.log(count, [...count].sort((a, b) => b[1] - a[1] || a[0].localeCompare(b[0])), Object.fromEntries(count));
console.log([3, 1, 2].toSorted(), [1, 2, 3].at(-1), [[1, [2]], 3].flat(Infinity), [1, 2, 3].findLast((x) => x < 3), [1,2,3].with(0, 9));
console.log(new Set([1, 2, 3].filter((x) => new Set([2, 3]).has(x))), [..."hello"].reverse().join(""), Array.from({ length: 3 }, (_, i) => i ** 2), [10, 9, 1].sort(), ["b", "a"].sort().reverse());
const { a, ...rest } = { a: 1, b: 2, c: 3 }; const [x, , y = 9, ...z] = [1, 2, undefined, 4, 5]; console.log(a, rest, x, y, z, { ...rest, d: 4 }, Math.max(...[1, 5, 3]));
console.log([1, 2, 3].includes(2), "abc".at(-1), Number("12px"), parseInt("12px"), (25).toString(2), (0.1 + 0.2).toFixed(2), 0.1 + 0.2, 5 / 0, 7 % 3, -7 % 3, 2 ** 53 + 1, 123456789012345680000, 0.000001, 1e-7);
console.log(structuredClone({ d: new Date(0), m: new Map([[1, { a: 1 }]]), n: [1, [2]] }), Number.MAX_SAFE_INTEGER, BigInt(2) ** 64n, 0xff, 1_000, parseFloat("3.14abc"), Number.EPSILON > 0, [NaN].includes(NaN), Object.is(-0, 0));
const g = (function* () { let i = 0; while (true) { const r = yield i++; if (r) i = r; } })(); console.log(g.next(), g.next(10), g.return(5), [...(function* () { yield* [1, 2]; })()]);
label: for (let i = 0; i < 3; i++) for (let j = 0; j < 3; j++) { if (j === 1) continue label; if (i === 2) break label; console.log(i, j); }
const tag = (s, ...v) => s.raw.join("|") + v.join(","); console.log(tag`a${1}b${2}\n`, `multi ${[1, 2]} ${{}}`); var hoisted; console.log(hoisted, typeof undeclared, void 0, null ?? "d", 0 || "e", a?.b?.c);
const ws = new WeakSet(), key = {}; ws.add(key); console.log(ws.has(key), Symbol.for("x") === Symbol.for("x"), Symbol("d").description, Reflect.ownKeys({ b: 1, 2: 1, a: 1, 1: 1 }));'
