node -e '
const fact = (n) => n <= 1n ? 1n : n * fact(n - 1n);
console.log(fact(30n), 2n ** 64n, BigInt.asUintN(8, 257n), typeof 1n, 7n / 2n, -7n % 3n, BigInt("0xff").toString(2));
const buf = new ArrayBuffer(8), view = new DataView(buf);
view.setFloat32(0, 1.5); view.setInt16(4, -2, true); view.setUint16(6, 65535);
console.log([...new Uint8Array(buf)], view.getInt16(4, true));
const f = Float64Array.of(3, 1, 2).sort(); console.log(f, new Uint8ClampedArray([300, -5, 1.5]), Uint8Array.from("123", Number));
console.log(new Int32Array([1, 2, 3]).map((x) => x * 2).subarray(1), Math.hypot(3, 4), Math.clz32(1), Math.imul(3, 4), Math.sign(-3));
console.log((255).toString(16), parseInt("z", 36), (0.1 + 0.2).toFixed(10), 1e21 + "", Number.MAX_SAFE_INTEGER, 5e-324, (1234.5678).toExponential(2), 0 === -0, Object.is(0, -0));
const w = new WeakMap(), k = {}; w.set(k, 1); console.log(w.get(k), w.has({}), new Set([1, 1, 2]).size, [...new Map([["a", 1]]).keys()]);
const s = Symbol("x"); console.log(s.toString(), s.description, { [s]: 1 }[s], Symbol.for("a") === Symbol.for("a"));
'
