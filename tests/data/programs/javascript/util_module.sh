cat > a.js <<'JS'
const util = require('util');
console.log(util.inspect({ a: { b: { c: { d: 1 } } } }, { depth: null }), util.inspect('s'), util.inspect([1, 2], { compact: false }), util.format('%s-%d', 'a', 1, { x: 1 }), util.inspect({ b: 1, a: 2 }, { sorted: true }));
console.log(util.types.isDate(new Date()), util.isDeepStrictEqual({ a: [1] }, { a: [1] }), util.inspect(new Map([[1, { a: 1 }]]), { showHidden: false }), util.inspect({ a: 1, b: 'x' }, { colors: true }), util.inspect('x'.repeat(10), { maxStringLength: 3 }), util.inspect([1, 2, 3, 4], { maxArrayLength: 2 }));
const sleep = util.promisify((ms, cb) => setTimeout(() => cb(null, 'slept ' + ms), ms)); sleep(1).then(console.log);
util.promisify(require('fs').readFile)('a.js', 'utf8').then((t) => console.log(t.length > 5));
util.callbackify(async (x) => x * 2)(4, (e, v) => console.log('cb', e, v));
class P { constructor() { this.x = 1; } [util.inspect.custom](d, o) { return `P<${this.x}>`; } } console.log(new P(), [new P()], { p: new P() });
function Old() {} function Base() {} Base.prototype.hi = () => 'hi'; util.inherits(Old, Base); console.log(new Old().hi(), new Old());
console.log(util.parseArgs({ args: ['-f', '--name=x', 'pos'], options: { f: { type: 'boolean', short: 'f' }, name: { type: 'string' } }, allowPositionals: true }), util.stripVTControlCharacters('\u001b[31mred\u001b[0m'));
JS
node a.js
