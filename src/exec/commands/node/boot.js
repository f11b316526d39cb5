// The first of it: modules of Node by name, globals, errors, and the program's own start.
// `sys` is what is outside of JavaScript (`sys.rs`); each file here is the body of a function
// of exports, require, module and sys.
'use strict';

const loaded = new Map();
Object.defineProperty(globalThis, '__sqlfs', { value: sys });

function internal(name) {
  let module = loaded.get(name);
  if (!module) {
    module = { exports: {} };
    loaded.set(name, module);
    sys.builtin(name)(module.exports, internal, module, sys);
  }
  return module.exports;
}

// --- errors: stacks as V8 writes them, and its words for the commonest mistakes ---

const WORDS = [
  [/^cannot read property '(.*)' of (undefined|null)$/, "Cannot read properties of $2 (reading '$1')"],
  [/^cannot set property '(.*)' of (undefined|null)$/, "Cannot set properties of $2 (setting '$1')"],
  [/^'(.*)' is read-only$/, 'Assignment to constant variable.'],
  [/^invalid array length$/, 'Invalid array length'],
  [/^Date value is NaN$/, 'Invalid time value'],
  [/^cannot convert symbol to string$/, 'Cannot convert a Symbol value to a string'],
  [/^cannot convert to BigInt$|^cannot mix BigInt.*$|^.*both operands must be BigInt$/i, 'Cannot mix BigInt and other types, use explicit conversions'],
];

function prepare(error, sites) {
  if (error instanceof TypeError || error instanceof RangeError) {
    const { message } = error;
    for (const [pattern, words] of WORDS) {
      if (pattern.test(message)) { error.message = message.replace(pattern, words); break; }
    }
  }
  let head;
  try { head = Error.prototype.toString.call(error); } catch { head = 'Error'; }
  for (const site of sites) {
    const file = site.getFileName();
    if (!file || file.startsWith('node:')) continue;
    const where = `${file}:${site.getLineNumber()}:${site.getColumnNumber()}`;
    const name = site.getFunctionName();
    head += name && name !== '<anonymous>' && name !== '<eval>' ? `\n    at ${name} (${where})` : `\n    at ${where}`;
  }
  return head;
}
Error.prepareStackTrace = prepare;

const { inspect, formatWithOptions, stackOf } = internal('inspect');
const loop = internal('loop');
const EventEmitter = internal('events');

// --- process ---

const start = sys.now();
const standard = (fd) => Object.assign(new EventEmitter(), {
  fd, writable: true,
  write(chunk, name, done = name) {
    if (typeof chunk !== 'string' && !ArrayBuffer.isView(chunk)) throw internal('errors').argType('chunk', 'of type string or an instance of Buffer, TypedArray, or DataView', chunk);
    sys.print(fd, typeof chunk === 'string' ? chunk : new Uint8Array(chunk.buffer, chunk.byteOffset, chunk.byteLength));
    if (typeof done === 'function') loop.nextTick(done);
    return true;
  },
  end(chunk, name, done) { if (chunk != null && typeof chunk !== 'function') this.write(chunk, name, done); this.emit('finish'); return this; },
  cork() {}, uncork() {}, destroy() {}, getColorDepth: () => 1, hasColors: () => false, writableLength: 0,
});

class Process extends EventEmitter {}
const process = new Process();
Object.defineProperty(process, Symbol.toStringTag, { value: 'process', configurable: true });
let exitCode;
Object.assign(process, {
  title: 'node', version: sys.version, versions: { node: sys.version.slice(1), quickjs: sys.engine }, arch: 'x64', platform: 'linux',
  release: { name: 'node' }, argv: [], execArgv: [], env: { ...sys.env }, pid: 1, ppid: 0, execPath: '/usr/local/bin/node', argv0: 'node',
  stdout: standard(1), stderr: standard(2), config: { variables: {} }, features: { typescript: 'strip' }, exiting: false,
  cwd: () => sys.cwd(),
  chdir(path) { const failed = sys.chdir(path); if (failed) throw internal('errors').errno(failed, 'chdir', sys.cwd(), path); },
  exit(code) {
    if (code !== undefined) process.exitCode = code;
    if (!process.exiting) {
      process.exiting = true;
      process.emit('exit', Number(process.exitCode ?? 0));
    }
    sys.exit(Number(process.exitCode ?? 0));
    for (;;); // Nothing runs on: the engine is interrupted here.
  },
  reallyExit(code) { sys.exit(code); for (;;); },
  abort() { sys.exit(134); for (;;); },
  kill() { throw internal('errors').errno('EPERM', 'kill'); },
  nextTick: loop.nextTick,
  hrtime: Object.assign((before) => {
    const ns = Math.round((sys.now() - 0) * 1e6);
    let [seconds, rest] = [Math.floor(ns / 1e9), ns % 1e9];
    if (before) { seconds -= before[0]; rest -= before[1]; if (rest < 0) { seconds--; rest += 1e9; } }
    return [seconds, rest];
  }, { bigint: () => BigInt(Math.round(sys.now() * 1e6)) }),
  uptime: () => (sys.now() - start) / 1000,
  memoryUsage: Object.assign(() => { const [used, limit] = sys.memory(); return { rss: used, heapTotal: limit, heapUsed: used, external: 0, arrayBuffers: 0 }; }, { rss: () => sys.memory()[0] }),
  cpuUsage: () => ({ user: Math.round((sys.now() - start) * 1000), system: 0 }),
  resourceUsage: () => ({ userCPUTime: Math.round((sys.now() - start) * 1000), systemCPUTime: 0, maxRSS: sys.memory()[0] / 1024 }),
  umask: () => 0o22, getuid: () => 1000, geteuid: () => 1000, getgid: () => 1000, getegid: () => 1000,
  emitWarning(warning, type = 'Warning', code) {
    if (typeof type === 'object') ({ type = 'Warning', code } = type);
    const name = warning instanceof Error ? warning.name : type;
    loop.nextTick(() => process.stderr.write(`(node:1) ${code ? `[${code}] ` : ''}${name}: ${warning.message ?? warning}\n`));
  },
  binding() { throw new Error('process.binding is not available in a sandbox'); },
});
Object.defineProperty(process, 'exitCode', {
  get: () => exitCode,
  set(code) {
    if (code !== undefined && code !== null && !Number.isInteger(Number(code))) throw internal('errors').argType('code', 'of type number', code);
    exitCode = code;
  },
  enumerable: true, configurable: true,
});
lazy(process, 'stdin', () => {
  const { Readable } = internal('stream');
  let given = false;
  return Object.assign(new Readable({ read() { if (!given) { given = true; const all = internal('fs').readFileSync(0); if (all.length > 0) this.push(all); } this.push(null); } }), { fd: 0, isTTY: false, setRawMode() { return this; }, ref() { return this; }, unref() { return this; } });
});

function lazy(object, name, make, enumerable = true) {
  Object.defineProperty(object, name, {
    get() { const value = make(); Object.defineProperty(object, name, { value, writable: true, configurable: true, enumerable }); return value; },
    set(value) { Object.defineProperty(object, name, { value, writable: true, configurable: true, enumerable }); },
    configurable: true, enumerable,
  });
}

// --- console ---

let indent = '';
const say = (fd, args) => {
  let text = formatWithOptions({}, ...args);
  if (indent !== '') text = indent + text.replaceAll('\n', `\n${indent}`);
  sys.print(fd, text + '\n');
};
const counts = new Map(), times = new Map();
function elapsed(label, from) {
  let ms = sys.now() - from, text;
  if (ms >= 1000) text = `${(ms / 1000).toFixed(3)}s`; else text = `${Number(ms.toFixed(3))}ms`;
  return `${label}: ${text}`;
}
const console = {
  log: (...args) => say(1, args), info: (...args) => say(1, args), debug: (...args) => say(1, args),
  error: (...args) => say(2, args), warn: (...args) => say(2, args),
  trace(...args) {
    const error = new Error();
    say(2, [`Trace${args.length > 0 ? ': ' + formatWithOptions({}, ...args) : ''}${error.stack.slice(5)}`]);
  },
  dir: (value, options) => say(1, [inspect(value, { customInspect: false, ...options })]),
  dirxml: (...args) => say(1, args),
  assert(good, ...args) {
    if (good) return;
    if (typeof args[0] === 'string') args[0] = `Assertion failed: ${args[0]}`; else args.unshift('Assertion failed');
    say(2, args);
  },
  group(...args) { if (args.length > 0) say(1, args); indent += '  '; },
  groupEnd() { indent = indent.slice(0, -2); },
  count(label = 'default') { counts.set(label, (counts.get(label) ?? 0) + 1); say(1, [`${label}: ${counts.get(label)}`]); },
  countReset(label = 'default') { counts.delete(label); },
  time(label = 'default') { times.set(String(label), sys.now()); },
  timeEnd(label = 'default') { console.timeLog(label); times.delete(String(label)); },
  timeLog(label = 'default', ...args) { if (times.has(String(label))) say(1, [elapsed(label, times.get(String(label))), ...args]); },
  table(rows, columns) {
    if (typeof rows !== 'object' || rows === null) { say(1, [rows]); return; }
    say(1, [table(rows, columns)]);
  },
  clear() {},
};
console.groupCollapsed = console.group;

function table(rows, columns) {
  const shown = (value) => inspect(value, { maxArrayLength: 3, breakLength: Infinity, depth: value !== null && typeof value === 'object' && !Array.isArray(value) && Object.keys(value).length > 2 ? -1 : 0 });
  const isMap = rows instanceof Map, isSet = rows instanceof Set, keys = [], values = [], index = [];
  let plain = false;
  const list = isMap ? [...rows] : isSet ? [...rows].map((value, i) => [i, value]) : Object.entries(rows);
  const heads = ['(index)'];
  if (isMap || isSet) heads[0] = '(iteration index)';
  const cells = list.map(([key, value], i) => {
    index.push(String(isMap ? i : key));
    if (isMap) values.push([shown(key), shown(value)]);
    const row = {};
    if (!isMap && value !== null && (typeof value === 'object' || (typeof value === 'function'))) {
      for (const name of columns ?? Object.keys(value)) {
        if (!keys.includes(name)) keys.push(name);
        if (Object.prototype.hasOwnProperty.call(value, name)) row[name] = shown(value[name]);
      }
    } else if (!isMap) { row[VALUE] = shown(value); plain = true; }
    return row;
  });
  heads.push(...keys);
  if (isMap) heads.push('Key', 'Values');
  if (plain) heads.push('Values');
  const lines = cells.map((row, i) => [index[i], ...keys.map((key) => row[key] ?? ''), ...(isMap ? values[i] : []), ...(plain ? [row[VALUE] ?? ''] : [])]);
  const widths = heads.map((head, i) => Math.max(head.length, ...lines.map((line) => line[i].length)) + 2);
  const rule = (a, b, c) => a + widths.map((width) => '─'.repeat(width)).join(b) + c;
  const line = (cells) => '│' + cells.map((text, i) => ` ${text}`.padEnd(widths[i])).join('│') + '│';
  return [rule('┌', '┬', '┐'), line(heads), rule('├', '┼', '┤'), ...lines.map(line), rule('└', '┴', '┘')].join('\n');
}
const VALUE = Symbol('value');

// --- globals ---

const global = globalThis;
const hidden = (name, value) => Object.defineProperty(global, name, { value, writable: true, configurable: true, enumerable: false });
hidden('global', global);
hidden('process', process);
hidden('console', Object.defineProperty(console, Symbol.toStringTag, { value: 'console' }));
for (const [name, value] of Object.entries(loop.timers)) if (name !== 'promises') Object.defineProperty(global, name, { value, writable: true, configurable: true, enumerable: true });
hidden('queueMicrotask', (call) => {
  if (typeof call !== 'function') throw internal('errors').argType('callback', 'of type function', call);
  Promise.resolve().then(() => { try { call(); } catch (error) { sys.uncaught(error); } });
});
for (const [name, from] of Object.entries({ Buffer: 'buffer', TextEncoder: 'buffer', TextDecoder: 'buffer', atob: 'buffer', btoa: 'buffer', URL: 'url', URLSearchParams: 'url', structuredClone: 'web', AbortController: 'web', AbortSignal: 'web', Event: 'web', EventTarget: 'web', DOMException: 'web' })) {
  if (name === 'DOMException' && typeof global.DOMException === 'function') continue;
  lazy(global, name, () => internal(from)[name], false);
}
lazy(global, 'crypto', () => internal('crypto').webcrypto, false);
lazy(global, 'performance', () => ({ now: () => sys.now() - start, timeOrigin: Date.now() - (sys.now() - start), mark() {}, measure() {}, toJSON() { return {}; } }), false);
lazy(global, 'Intl', () => { internal('locale').install(global); return global.Intl; }, false);
for (const [proto, names] of [[Number.prototype, ['toLocaleString']], [BigInt.prototype, ['toLocaleString']], [Date.prototype, ['toLocaleString', 'toLocaleDateString', 'toLocaleTimeString']], [String.prototype, ['localeCompare']], [Array.prototype, ['toLocaleString']]]) {
  for (const name of names) {
    const stub = { [name](...args) { if (proto[name] === stub) internal('locale').install(global); return proto[name].apply(this, args); } }[name];
    Object.defineProperty(proto, name, { value: stub, writable: true, configurable: true });
  }
}

// --- the end ---

let ended = false;
function place(error) {
  const found = /\n {4}at (?:.*\()?(\/[^\n]*?|\[eval\]|\[stdin\]):(\d+):(\d+)\)?/.exec(typeof error?.stack === 'string' ? error.stack : '');
  if (!found) return '';
  const [, file, line, column] = found;
  const text = file[0] === '/' ? sys.readText(file) : [sources.get(file)];
  const source = Array.isArray(text) && text[0] !== undefined ? text[0].split('\n')[line - 1] : undefined;
  if (source === undefined || source.length > 500) return `${file}:${line}\n`;
  return `${file}:${line}\n${source}\n${' '.repeat(Math.max(0, Math.min(column - 1, source.length)))}^\n\n`;
}

function report(error) {
  const isError = error instanceof Error;
  // Without frames it is in brackets, but not here.
  const text = isError ? inspect(error).replace(/^\[([^\]]*)\]( \{|$)/, '$1$2') : `Uncaught:\n${inspect(error)}`;
  sys.print(2, `${place(error)}${text}\n\nNode.js ${sys.version} (QuickJS)\n`);
}

sys.uncaught = (error, origin = 'uncaughtException') => {
  if (process.listenerCount('uncaughtException') > 0) { process.emit('uncaughtException', error, origin); return; }
  if (process.exiting) { sys.exit(7); for (;;); }
  report(error);
  process.exitCode = 1;
  process.exit(1);
};

// Promise.any rejects with a text in V8.
const any = Promise.any;
Object.defineProperty(Promise, 'any', {
  value: function any_(items) {
    return any.call(this, items).catch((error) => {
      if (error instanceof AggregateError && error.message === '') {
        Object.defineProperty(error, 'message', { value: 'All promises were rejected', writable: true, configurable: true });
        Object.defineProperty(error, 'stack', { value: `AggregateError: ${error.message}`, writable: true, configurable: true });
      }
      throw error;
    });
  },
  writable: true, configurable: true,
});
for (const name of ['toString', 'toTimeString']) {
  const plain = Date.prototype[name];
  const named = { [name]() { return plain.call(this).replace(/GMT\+0000$/, '$& (Coordinated Universal Time)'); } }[name];
  Object.defineProperty(Date.prototype, name, { value: named, writable: true, configurable: true });
}

const rejected = new Map();
sys.rejected = (promise, reason, handled) => {
  if (handled) rejected.delete(promise); else rejected.set(promise, reason);
};
function rejections() {
  for (const [promise, reason] of rejected) {
    rejected.delete(promise);
    if (process.listenerCount('unhandledRejection') > 0) { process.emit('unhandledRejection', reason, promise); continue; }
    if (reason instanceof Error) sys.uncaught(reason, 'unhandledRejection');
    else {
      const { coded } = internal('errors');
      sys.uncaught(coded(Error, 'ERR_UNHANDLED_REJECTION', 'This error originated either by throwing inside of an async function without a catch block, or by rejecting a promise which was not handled with .catch(). The promise rejected with the reason "' + (typeof reason === 'object' ? inspect(reason) : String(reason)) + '".'), 'unhandledRejection');
    }
  }
}

sys.ticks = () => loop.runTicks();
// Milliseconds until there is something to do; below 0: never.
sys.advance = () => {
  if (rejected.size > 0) { rejections(); return 0; }
  const wait = loop.advance();
  if (wait >= 0) return wait;
  if (!ended) {
    ended = true;
    process.emit('beforeExit', Number(exitCode ?? 0));
    return 0;
  }
  const again = loop.advance();
  if (again >= 0) { ended = false; return again; }
  if (internal('modules').unsettled() && exitCode === undefined) {
    sys.print(2, 'Warning: Detected unsettled top-level await\n');
    exitCode = 13;
  }
  process.exiting = true;
  process.emit('exit', Number(exitCode ?? 0));
  sys.exit(Number(exitCode ?? 0));
  return -1;
};

// --- the program ---

const sources = new Map();
sys.main = (kind, text, args, options) => {
  const modules = internal('modules');
  process.execArgv = [];
  if (kind === 'file') {
    const path = modules.entry(text);
    process.argv = ['/usr/local/bin/node', path, ...args];
    if (options.check) { modules.check(path); return; }
    modules.run(path);
    return;
  }
  const name = kind === 'stdin' ? '[stdin]' : '[eval]';
  process.argv = ['/usr/local/bin/node', ...(kind === 'stdin' && options.dash ? ['-'] : []), ...args];
  sources.set(name, text);
  modules.runText(name, text, options);
};
module.exports = { internal, process };
