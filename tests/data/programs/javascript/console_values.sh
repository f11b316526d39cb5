cat > a.js <<'JS'
console.log('%s is %d years and %i, %f, %j %o %O %%', 'Bob', 42.5, 42.9, '1.5', { a: 1 }, [1], { b: { c: { d: {} } } }, 'extra', 7);
console.log(null, undefined, true, -0, 1e21, 10n, Symbol('s'), 'str', ['str', 'it\'s', "a\nb"], NaN);
console.log({ a: 1, 'b-c': 2, 3: 4, [Symbol('k')]: 5, f() {}, g: () => 1, h: class X {}, n: null, u: undefined, d: new Date(0), r: /x/g });
console.log([[1, [2, [3, [4]]]]], { a: { b: { c: { d: 1 } } } }, [,1,,2], new Array(5), [undefined, null], Object.assign([1], { x: 1 }));
console.log(new Map([['a', { b: 1 }], [{ k: 1 }, [1]]]), new Set([1, 'a', {}]), new WeakMap(), new Map(), [new Map([[1, 2]])], new Map([['long key '.repeat(5), 'long value '.repeat(5)]]));
console.log(Array.from({ length: 120 }, (_, i) => i), Array.from({ length: 30 }, (_, i) => 'item' + i), Array.from({ length: 7 }, (_, i) => ({ id: i, name: 'n' + i })));
console.log({ long: 'x'.repeat(100), list: ['a'.repeat(30), 'b'.repeat(30), 'c'.repeat(30)], multi: 'a\nb' }, ['x'.repeat(90)]);
const c = { name: 'c' }; c.self = c; c.list = [c, { c }]; console.log(c);
console.log([1.5, -2, 3], ['a'], [[]], [{}], {}, [], [[], []], function foo() {}, class A {}, () => {}, async () => {}, function* g() {}, Math, JSON, globalThis === global, process.argv.length);
console.log(new Error('e').message, [new Number(1), new String('s'), Object(true)], new Uint8Array(3), new Float32Array([1.5]), new ArrayBuffer(4), (function () { return arguments; })(1, 2));
console.log(Object.create({ constructor: function Foo() {} }), Object.freeze([1]), new Proxy({ a: 1 }, {}), [1, 2, 3].keys(), 'ab'[Symbol.iterator]());
console.error('to stderr'); console.info('info'); console.debug('debug'); console.dir({ a: { b: { c: { d: 1 } } } }, { depth: 0 }); console.log(); console.log('');
console.group('G'); console.log('in\nside'); console.group(); console.log({ a: 1 }); console.groupEnd(); console.groupEnd(); console.log('out'); console.count(); console.count('x'); console.count(); console.assert(1 === 1); 
console.log('%s', { toString() { return 'custom'; } }, '%s'); console.log('%s %s', [1, [2, [3]]], { a: { b: 1 } }); console.log('%c red', 'color: red'); console.log('100%', 5, '%d', 6);
for (let n = 50; n < 75; n++) console.log({ k: 'x'.repeat(n), l: 1 }, ['y'.repeat(n), 2]);
console.log({ a: [{ b: [{ c: 1 }] }], s: new Set([[1, 2]]), m: new Map([['k', new Map([['z', 1]])]]) }, '日本語', ['日本', '語']);
JS
node a.js
