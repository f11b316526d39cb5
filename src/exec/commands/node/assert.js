// `assert` and `assert/strict`.
const { inspect } = require('inspect');

class AssertionError extends Error {
  constructor({ message, actual, expected, operator, stackStartFn }) {
    super(message);
    this.generatedMessage = false;
    this.code = 'ERR_ASSERTION';
    this.actual = actual;
    this.expected = expected;
    this.operator = operator;
    Object.defineProperty(this, 'name', { value: 'AssertionError', configurable: true, writable: true });
    if (stackStartFn) Error.captureStackTrace(this, stackStartFn);
    this.stack = this.stack.replace(/^\w*Error\b( \[\w+\])?/, 'AssertionError [ERR_ASSERTION]');
  }
}

function isDeep(a, b, strict, seen = []) {
  if (strict ? Object.is(a, b) : a === b || (a !== a && b !== b)) return true;
  if (typeof a !== 'object' || typeof b !== 'object' || a === null || b === null) {
    // eslint-disable-next-line eqeqeq
    return !strict && (typeof a !== 'object' || a === null) && (typeof b !== 'object' || b === null) && a == b;
  }
  if (strict && Object.getPrototypeOf(a) !== Object.getPrototypeOf(b)) return false;
  if (Object.prototype.toString.call(a) !== Object.prototype.toString.call(b)) return false;
  if (Array.isArray(a) !== Array.isArray(b)) return false;
  if (Array.isArray(a) && a.length !== b.length) return false;
  if (a instanceof Date && b instanceof Date && a.getTime() !== b.getTime()) return false;
  if (a instanceof RegExp && String(a) !== String(b)) return false;
  if (a instanceof Error && (a.message !== b.message || a.name !== b.name)) return false;
  if ([Number, String, Boolean, BigInt, Symbol].some((T) => a instanceof T) && !Object.is(a.valueOf(), b.valueOf())) return false;
  if (ArrayBuffer.isView(a)) {
    if (a.byteLength !== b.byteLength) return false;
    const [x, y] = [a, b].map((v) => new Uint8Array(v.buffer, v.byteOffset, v.byteLength));
    return x.every((byte, i) => byte === y[i]);
  }
  if (seen.some(([x, y]) => x === a && y === b)) return true;
  seen = [...seen, [a, b]];
  const same = (x, y) => isDeep(x, y, strict, seen);
  if (a instanceof Set) {
    if (a.size !== b.size) return false;
    const left = [...b];
    for (const item of a) {
      const at = left.findIndex((other) => same(item, other));
      if (at === -1) return false;
      left.splice(at, 1);
    }
  }
  if (a instanceof Map) {
    if (a.size !== b.size) return false;
    const left = [...b];
    for (const [key, value] of a) {
      const at = left.findIndex(([k, v]) => same(key, k) && same(value, v));
      if (at === -1) return false;
      left.splice(at, 1);
    }
  }
  const keys = (v) => [...Object.keys(v), ...(strict ? Object.getOwnPropertySymbols(v).filter((s) => Object.prototype.propertyIsEnumerable.call(v, s)) : [])];
  const [own, other] = [keys(a), keys(b)];
  return own.length === other.length && own.every((key) => Object.prototype.hasOwnProperty.call(b, key) && same(a[key], b[key]));
}

function fail(options, message, generated, isGenerated = message === undefined) {
  if (message instanceof Error) throw message;
  const error = new AssertionError({ ...options, message: message ?? generated });
  error.generatedMessage = isGenerated;
  throw error;
}

const long = (value) => inspect(value, { compact: false, depth: 1000, maxArrayLength: Infinity, sorted: true, getters: true });

// Two short values in one line.
function brief(actual, expected) {
  const [a, b] = [long(actual), long(expected)];
  const plain = [actual, expected].every((value) => typeof value !== 'object' || value === null);
  return plain && a !== b && !/\n/.test(a + b) && a.length + b.length <= 16 ? `\n\n${a} !== ${b}\n` : undefined;
}

// The lines of two values side by side, as a diff by longest common subsequence.
function difference(actual, expected, head) {
  const a = long(actual).split('\n'), b = long(expected).split('\n');
  const simple = brief(actual, expected);
  if (simple) return head + simple;
  const table = Array.from({ length: a.length + 1 }, () => new Uint32Array(b.length + 1));
  for (let i = a.length - 1; i >= 0; i--) for (let j = b.length - 1; j >= 0; j--) table[i][j] = a[i] === b[j] ? table[i + 1][j + 1] + 1 : Math.max(table[i + 1][j], table[i][j + 1]);
  const out = [];
  let i = 0, j = 0;
  while (i < a.length || j < b.length) {
    if (i < a.length && j < b.length && a[i] === b[j]) { out.push(`  ${a[i++]}`); j++; }
    else if (i < a.length && (j === b.length || table[i + 1][j] >= table[i][j + 1])) out.push(`+ ${a[i++]}`);
    else out.push(`- ${b[j++]}`);
  }
  return `${head}\n+ actual - expected\n\n${out.join('\n')}`;
}

const HEADS = {
  strictEqual: 'Expected values to be strictly equal:', deepStrictEqual: 'Expected values to be strictly deep-equal:',
  deepEqual: 'Expected values to be loosely deep-equal:', notStrictEqual: 'Expected "actual" to be strictly unequal to:',
  notDeepStrictEqual: 'Expected "actual" not to be strictly deep-equal to:',
};

function ok(value, message) {
  if (value) return;
  fail({ actual: value, expected: true, operator: '==', stackStartFn: ok }, message,
    arguments.length === 0 ? 'No value argument passed to `assert.ok()`' : `${inspect(value)} == true`);
}

const assert = (value, message) => {
  if (!value) fail({ actual: value, expected: true, operator: '==', stackStartFn: assert }, message, `${inspect(value)} == true`);
};

function matches(error, expected, message, stackStartFn) {
  if (expected === undefined) return;
  if (typeof expected === 'function') {
    if (expected.prototype !== undefined && error instanceof expected) return;
    if (Error.isPrototypeOf(expected) || expected === Error) {
      fail({ actual: error, expected, operator: 'throws', stackStartFn }, message, `The error is expected to be an instance of "${expected.name}". Received "${error?.constructor?.name}"\n\nError message:\n\n${error?.message}`);
    }
    if (expected.call({}, error) === true) return;
    fail({ actual: error, expected, operator: 'throws', stackStartFn }, message, `The ${expected.name ? `"${expected.name}" ` : ''}validation function is expected to return "true". Received ${inspect(expected.call({}, error))}\n\nCaught error:\n\n${error}`);
  }
  if (expected instanceof RegExp) {
    if (expected.test(String(error))) return;
    fail({ actual: error, expected, operator: 'throws', stackStartFn }, message, `The input did not match the regular expression ${inspect(expected)}. Input:\n\n${inspect(String(error))}\n`);
  }
  const keys = Object.keys(expected);
  if (expected instanceof Error) keys.push('name', 'message');
  for (const key of keys) {
    const good = expected[key] instanceof RegExp && typeof error[key] === 'string' ? expected[key].test(error[key]) : isDeep(error[key], expected[key], true);
    if (!good) fail({ actual: error, expected, operator: 'throws', stackStartFn }, message, difference(Object.fromEntries(keys.map((k) => [k, error[k]])), Object.fromEntries(keys.map((k) => [k, expected[k]])), HEADS.deepStrictEqual));
  }
}

Object.assign(assert, {
  AssertionError, ok,
  fail(message = 'Failed') { fail({ operator: 'fail', stackStartFn: assert.fail }, message, 'Failed'); },
  // eslint-disable-next-line eqeqeq
  equal(a, b, message) { if (!(a == b || (a !== a && b !== b))) fail({ actual: a, expected: b, operator: '==', stackStartFn: assert.equal }, message, `${inspect(a)} == ${inspect(b)}`); },
  // eslint-disable-next-line eqeqeq
  notEqual(a, b, message) { if (a == b || (a !== a && b !== b)) fail({ actual: a, expected: b, operator: '!=', stackStartFn: assert.notEqual }, message, `${inspect(a)} != ${inspect(b)}`); },
  strictEqual(a, b, message) { if (!Object.is(a, b)) fail({ actual: a, expected: b, operator: 'strictEqual', stackStartFn: assert.strictEqual }, typeof message === 'string' ? message + (brief(a, b) ?? '') : message, isDeep(a, b, true) && typeof a === 'object' ? `Values have same structure but are not reference-equal:\n\n${long(a)}\n` : difference(a, b, HEADS.strictEqual)); },
  notStrictEqual(a, b, message) { if (Object.is(a, b)) fail({ actual: a, expected: b, operator: 'notStrictEqual', stackStartFn: assert.notStrictEqual }, message, `${HEADS.notStrictEqual}\n\n${long(b)}${typeof b === 'object' ? '\n' : ''}`); },
  deepEqual(a, b, message) { if (!isDeep(a, b, false)) fail({ actual: a, expected: b, operator: 'deepEqual', stackStartFn: assert.deepEqual }, message, `${HEADS.deepEqual}\n\n${long(a)}\n\nshould loosely deep-equal\n\n${long(b)}`); },
  notDeepEqual(a, b, message) { if (isDeep(a, b, false)) fail({ actual: a, expected: b, operator: 'notDeepEqual', stackStartFn: assert.notDeepEqual }, message, `Expected "actual" not to be loosely deep-equal to:\n\n${long(b)}`); },
  deepStrictEqual(a, b, message) { if (!isDeep(a, b, true)) fail({ actual: a, expected: b, operator: 'deepStrictEqual', stackStartFn: assert.deepStrictEqual }, message, difference(a, b, HEADS.deepStrictEqual)); },
  notDeepStrictEqual(a, b, message) { if (isDeep(a, b, true)) fail({ actual: a, expected: b, operator: 'notDeepStrictEqual', stackStartFn: assert.notDeepStrictEqual }, message, `${HEADS.notDeepStrictEqual}\n\n${long(b)}`); },
  throws(call, expected, message) {
    if (typeof expected === 'string') { message = expected; expected = undefined; }
    let error, threw = false;
    try { call(); } catch (thrown) { error = thrown; threw = true; }
    if (!threw) fail({ operator: 'throws', stackStartFn: assert.throws, expected }, message === undefined ? undefined : `Missing expected exception: ${message}`, `Missing expected exception${expected?.name ? ` (${expected.name})` : ''}.`, false);
    matches(error, expected, message, assert.throws);
  },
  doesNotThrow(call, message) {
    try { call(); } catch (error) { fail({ actual: error, operator: 'doesNotThrow', stackStartFn: assert.doesNotThrow }, typeof message === 'string' ? message : undefined, `Got unwanted exception.\nActual message: "${error?.message}"`); }
  },
  async rejects(work, expected, message) {
    if (typeof expected === 'string') { message = expected; expected = undefined; }
    let error, threw = false;
    try { await (typeof work === 'function' ? work() : work); } catch (thrown) { error = thrown; threw = true; }
    if (!threw) fail({ operator: 'rejects', expected }, message, `Missing expected rejection${expected?.name ? ` (${expected.name})` : ''}.`);
    matches(error, expected, message);
  },
  async doesNotReject(work, message) {
    try { await (typeof work === 'function' ? work() : work); } catch (error) { fail({ actual: error, operator: 'doesNotReject' }, message, `Got unwanted rejection.\nActual message: "${error?.message}"`); }
  },
  ifError(value) { if (value !== null && value !== undefined) fail({ actual: value, expected: null, operator: 'ifError' }, undefined, `ifError got unwanted exception: ${value?.message ?? inspect(value)}`); },
  match(text, pattern, message) { if (typeof text !== 'string' || !pattern.test(text)) fail({ actual: text, expected: pattern, operator: 'match', stackStartFn: assert.match }, message, `The input did not match the regular expression ${inspect(pattern)}. Input:\n\n${inspect(text)}\n`); },
  doesNotMatch(text, pattern, message) { if (pattern.test(text)) fail({ actual: text, expected: pattern, operator: 'doesNotMatch', stackStartFn: assert.doesNotMatch }, message, `The input was expected to not match the regular expression ${inspect(pattern)}. Input:\n\n${inspect(text)}\n`); },
});
const strict = Object.assign((value, message) => assert(value, message), assert, { equal: assert.strictEqual, notEqual: assert.notStrictEqual, deepEqual: assert.deepStrictEqual, notDeepEqual: assert.notDeepStrictEqual });
strict.strict = strict;
assert.strict = strict;
Object.defineProperty(assert, 'isDeep', { value: isDeep });
module.exports = assert;
