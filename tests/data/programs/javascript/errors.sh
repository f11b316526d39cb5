cat > a.js <<'JS'
class AppError extends Error { constructor(m, code) { super(m); this.name = 'AppError'; this.code = code; } }
try { throw new AppError('bad', 42); } catch (e) { console.log(e.name, e.message, e.code, e instanceof AppError, e instanceof Error, String(e), Object.keys(e)); }
const e = new Error('outer', { cause: new TypeError('inner') }); console.log(e.cause.message, e.message);
for (const f of [() => null.x, () => undefined.foo.bar, () => nope, () => { const c = 1; c = 2; }, () => { undefined.x = 1; }, () => new Array(-1), () => 'x'.repeat(-1), () => BigInt(1) + 1, () => Symbol() + '', () => decodeURIComponent('%'), () => structuredClone(() => {}), () => (function f() { f(); })(), () => [].reduce((a) => a), () => new (class A { constructor() { new.target.x(); } })()]) {
  try { f(); } catch (e) { console.log(e.name, e instanceof Error); }
}
try { null.x; } catch (e) { console.log(e.message); }
try { let a = {}; a.b.c; } catch (e) { console.log(e.message); }
try { nope; } catch (e) { console.log(e.message); }
const f = () => { try { return 'try'; } finally { console.log('finally'); } }; console.log(f());
console.log(new AggregateError([new Error('a'), new Error('b')], 'two').errors.length, Error('no new').message, new Error('m') + '');
const err = new Error('with props'); err.stack = 'Error: with props\n    at x (y:1:1)'; err.extra = { a: 1 }; console.log(err); err.stack = undefined;
console.log({ e: Object.assign(new RangeError('r'), { stack: 'RangeError: r' }) }, [Object.assign(new Error('q'), { stack: 'Error: q' })]);
JS
node a.js
