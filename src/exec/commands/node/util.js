// `util`.
const { inspect, format, formatWithOptions } = require('inspect');
const { argType } = require('errors');
const { TextEncoder, TextDecoder } = require('buffer');
const custom = Symbol.for('nodejs.util.promisify.custom');

function promisify(call) {
  if (typeof call !== 'function') throw argType('original', 'of type function', call);
  if (call[custom]) return call[custom];
  const promised = function (...args) {
    return new Promise((resolve, reject) => call.call(this, ...args, (error, ...values) => error ? reject(error) : resolve(values[0])));
  };
  return Object.setPrototypeOf(promised, Object.getPrototypeOf(call));
}
promisify.custom = custom;

function callbackify(call) {
  return function (...args) {
    const done = args.pop();
    call.apply(this, args).then((value) => process.nextTick(done, null, value), (error) => process.nextTick(done, error ?? new Error('rejected')));
  };
}

const tag = (value) => Object.prototype.toString.call(value).slice(8, -1);
const types = {
  isDate: (v) => v instanceof Date, isRegExp: (v) => v instanceof RegExp, isMap: (v) => v instanceof Map, isSet: (v) => v instanceof Set,
  isWeakMap: (v) => v instanceof WeakMap, isWeakSet: (v) => v instanceof WeakSet, isPromise: (v) => v instanceof Promise,
  isNativeError: (v) => v instanceof Error, isTypedArray: (v) => ArrayBuffer.isView(v) && !(v instanceof DataView),
  isUint8Array: (v) => v instanceof Uint8Array, isArrayBuffer: (v) => v instanceof ArrayBuffer, isAnyArrayBuffer: (v) => v instanceof ArrayBuffer,
  isArrayBufferView: ArrayBuffer.isView, isDataView: (v) => v instanceof DataView,
  isAsyncFunction: (v) => typeof v === 'function' && /^Async/.test(tag(v)), isGeneratorFunction: (v) => typeof v === 'function' && /GeneratorFunction$/.test(tag(v)),
  isGeneratorObject: (v) => tag(v) === 'Generator', isSymbolObject: (v) => typeof v === 'object' && v instanceof Symbol,
  isNumberObject: (v) => v instanceof Number, isStringObject: (v) => v instanceof String, isBooleanObject: (v) => v instanceof Boolean,
  isBoxedPrimitive: (v) => [Number, String, Boolean, Symbol, BigInt].some((T) => v instanceof T), isProxy: () => false,
};

function inherits(child, parent) {
  Object.defineProperty(child, 'super_', { value: parent, writable: true, configurable: true });
  Object.setPrototypeOf(child.prototype, parent.prototype);
}

function deprecate(call, message, code) {
  let said = false;
  return function (...args) {
    if (!said) { said = true; process.emitWarning(message, 'DeprecationWarning', code); }
    return new.target ? Reflect.construct(call, args, new.target) : call.apply(this, args);
  };
}

function styleText(style, text) {
  for (const name of [style].flat()) {
    const [on, off] = inspect.colors[name];
    text = `\u001b[${on}m${text}\u001b[${off}m`;
  }
  return text;
}

function parseArgs({ args = process.argv.slice(2), options = {}, allowPositionals, strict = true, tokens } = {}) {
  allowPositionals ??= !strict;
  const fail = (code, message) => { throw require('errors').coded(TypeError, code, message); };
  const values = Object.create(null), positionals = [];
  for (const [name, option] of Object.entries(options)) if ('default' in option) values[name] = option.default;
  const set = (name, value, shown) => {
    const option = options[name];
    if (!option && strict) fail('ERR_PARSE_ARGS_UNKNOWN_OPTION', `Unknown option '${shown}'`);
    if (option && option.multiple) { if (!Array.isArray(values[name]) || values[name] === option.default) values[name] = []; values[name].push(value); }
    else values[name] = value;
  };
  const list = [...args];
  while (list.length > 0) {
    const arg = list.shift();
    if (arg === '--') { positionals.push(...list); break; }
    let name, value, shown;
    if (arg.startsWith('--')) {
      const at = arg.indexOf('=');
      name = at === -1 ? arg.slice(2) : arg.slice(2, at);
      if (at !== -1) value = arg.slice(at + 1);
      shown = `--${name}`;
    } else if (arg.length > 1 && arg[0] === '-') {
      const short = arg[1];
      name = Object.keys(options).find((key) => options[key].short === short) ?? short;
      if (arg.length > 2) { if (options[name]?.type === 'string') value = arg.slice(2); else list.unshift('-' + arg.slice(2)); }
      shown = `-${short}`;
    } else {
      if (!allowPositionals) fail('ERR_PARSE_ARGS_UNEXPECTED_POSITIONAL', `Unexpected argument '${arg}'. This command does not take positional arguments`);
      positionals.push(arg);
      continue;
    }
    if (options[name]?.type === 'string') {
      if (value === undefined) {
        if (list.length === 0) fail('ERR_PARSE_ARGS_INVALID_OPTION_VALUE', `Option '${options[name].short ? `-${options[name].short}, ` : ''}--${name} <value>' argument missing`);
        value = list.shift();
      }
      set(name, value, shown);
    } else if (value !== undefined && strict) {
      fail(options[name] ? 'ERR_PARSE_ARGS_INVALID_OPTION_VALUE' : 'ERR_PARSE_ARGS_UNKNOWN_OPTION', options[name] ? `Option '--${name}' does not take an argument` : `Unknown option '${shown}'`);
    } else set(name, value ?? true, shown);
  }
  return { values, positionals };
}

const stripVTControlCharacters = (text) => text.replace(/[\u001b\u009b][[()#;?]*(?:\d{1,4}(?:;\d{0,4})*)?[0-9A-PRZcf-ntqry=><~]/g, '');

module.exports = {
  inspect, format, formatWithOptions, promisify, callbackify, types, inherits, deprecate, styleText, parseArgs, stripVTControlCharacters,
  isDeepStrictEqual: (a, b) => require('assert').isDeep(a, b, true), TextEncoder, TextDecoder,
  debuglog: () => Object.assign(() => {}, { enabled: false }), isArray: Array.isArray,
  toUSVString: (text) => String(text).toWellFormed(), isError: (v) => v instanceof Error,
};
module.exports.debug = module.exports.debuglog;
