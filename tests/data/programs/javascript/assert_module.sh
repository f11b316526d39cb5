cat > a.js <<'JS'
const assert = require('assert');
assert(true); assert.equal(1, '1'); assert.deepStrictEqual({ a: [1, { b: 2 }], m: new Map([[1, 2]]) }, { a: [1, { b: 2 }], m: new Map([[1, 2]]) }); assert.throws(() => { throw new TypeError('x'); }, TypeError); assert.throws(() => { throw new Error('abc'); }, /abc/); assert.throws(() => { throw new Error('m'); }, { message: 'm' });
for (const f of [() => assert.strictEqual(1, 2), () => assert.deepStrictEqual({ a: 1 }, { a: 2 }), () => assert(false, 'msg'), () => assert.ok(0, 'zero'), () => assert.notStrictEqual(1, 1), () => assert.throws(() => {}), () => assert.fail('why'), () => assert.match('abc', /x/), () => assert.deepEqual([1, 2], [1, 3]), () => assert.equal(1, 2), () => assert.strictEqual('a', 'b', 'text'), () => assert.deepStrictEqual([1, 2, 3], [1, 2, 4]), () => assert.deepStrictEqual(new Set([1]), new Set([2]))]) {
  try { f(); console.log('no error'); } catch (e) { console.log(e.name, e.code, e.generatedMessage, e.operator, e.actual, e.expected); if (!e.generatedMessage) console.log(e.message); }
}
try { assert.strictEqual(1, 2); } catch (e) { console.log(e.message); }
try { assert.deepStrictEqual({ a: 1, b: [1, 2] }, { a: 1, b: [1, 3] }); } catch (e) { console.log(e.message.split('\n')[0]); }
assert.rejects(Promise.reject(new Error('r')), /r/).then(() => console.log('rejects ok'));
console.log(assert.strict.equal === assert.strict.strictEqual);
JS
node a.js
