// Values as console.log prints them: the layout of Node's util.inspect with its defaults.

const custom = Symbol.for('nodejs.util.inspect.custom');

const defaults = {
  showHidden: false, depth: 2, colors: false, customInspect: true, showProxy: false, maxArrayLength: 100,
  maxStringLength: 10000, breakLength: 80, compact: 3, sorted: false, getters: false, numericSeparator: false,
};

const STYLES = {
  special: [36, 39], number: [33, 39], bigint: [33, 39], boolean: [33, 39], undefined: [90, 39], null: [1, 22],
  string: [32, 39], symbol: [32, 39], date: [35, 39], regexp: [31, 39], module: [4, 24],
};

const isIdentifier = (text) => /^[a-zA-Z_][a-zA-Z_0-9]*$/.test(text);
const tagOf = (value) => Object.prototype.toString.call(value).slice(8, -1);

function paint(ctx, text, style) {
  const pair = ctx.colors && STYLES[style];
  return pair ? `\u001b[${pair[0]}m${text}\u001b[${pair[1]}m` : text;
}

const ESCAPES = { '\b': '\\b', '\t': '\\t', '\n': '\\n', '\f': '\\f', '\r': '\\r', '\\': '\\\\' };

function quote(text) {
  let mark = "'";
  if (text.includes("'")) {
    if (!text.includes('"')) mark = '"';
    else if (!text.includes('`') && !text.includes('${')) mark = '`';
  }
  let out = '';
  for (let i = 0; i < text.length; i++) {
    const char = text[i], code = text.charCodeAt(i);
    if (char === mark) out += '\\' + char;
    else if (ESCAPES[char]) out += ESCAPES[char];
    else if (code < 32 || (code >= 127 && code < 160)) out += '\\x' + code.toString(16).toUpperCase().padStart(2, '0');
    else if (code >= 0xd800 && code <= 0xdfff) {
      const next = text.charCodeAt(i + 1);
      if (code < 0xdc00 && next >= 0xdc00 && next <= 0xdfff) { out += char + text[++i]; }
      else out += '\\u' + code.toString(16).toUpperCase();
    } else out += char;
  }
  return mark + out + mark;
}

function separated(digits) {
  return digits.replace(/\B(?=(\d{3})+(?!\d))/g, '_');
}

function number(ctx, value) {
  if (Object.is(value, -0)) return '-0';
  const text = String(value);
  if (!ctx.numericSeparator || !/^-?\d+(\.\d+)?$/.test(text)) return text;
  const [whole, part] = text.split('.');
  return separated(whole) + (part === undefined ? '' : '.' + part.replace(/(\d{3})(?=\d)/g, '$1_'));
}

function primitive(ctx, value) {
  switch (typeof value) {
    case 'string': {
      let tail = '';
      if (value.length > ctx.maxStringLength) {
        const more = value.length - ctx.maxStringLength;
        value = value.slice(0, ctx.maxStringLength);
        tail = `... ${more} more character${more > 1 ? 's' : ''}`;
      }
      if (ctx.compact !== true && value.length > 16 && value.length > ctx.breakLength - ctx.indentation - 4) {
        return value.split(/(?<=\n)/).map((line) => paint(ctx, quote(line), 'string'))
          .join(` +\n${' '.repeat(ctx.indentation + 2)}`) + tail;
      }
      return paint(ctx, quote(value), 'string') + tail;
    }
    case 'number': return paint(ctx, number(ctx, value), 'number');
    case 'bigint': return paint(ctx, (ctx.numericSeparator ? separated(String(value)) : String(value)) + 'n', 'bigint');
    case 'boolean': return paint(ctx, String(value), 'boolean');
    case 'undefined': return paint(ctx, 'undefined', 'undefined');
    case 'symbol': return paint(ctx, symbolText(value), 'symbol');
    default: return paint(ctx, 'null', 'null');
  }
}

const symbolText = (symbol) => symbol.toString();

function constructorName(value) {
  let object = value, first = true;
  while (object !== null && object !== undefined) {
    const own = Object.getOwnPropertyDescriptor(object, 'constructor');
    if (own && typeof own.value === 'function' && own.value.name !== '' && value instanceof own.value) {
      return own.value.name;
    }
    object = Object.getPrototypeOf(object);
    if (first) first = object === null ? null : false;
  }
  return null;
}

function prefix(name, tag, fallback, size = '') {
  if (name === null) {
    return tag !== '' && fallback !== tag
      ? `[${fallback}${size}: null prototype] [${tag}] ` : `[${fallback}${size}: null prototype] `;
  }
  return tag !== '' && name !== tag ? `${name}${size} [${tag}] ` : `${name}${size} `;
}

function ownKeys(value, showHidden) {
  if (showHidden) return Reflect.ownKeys(value);
  const symbols = Object.getOwnPropertySymbols(value);
  const keys = Object.keys(value);
  for (const symbol of symbols) if (Object.prototype.propertyIsEnumerable.call(value, symbol)) keys.push(symbol);
  return keys;
}

const isIndex = (key) => typeof key === 'string' && /^(0|[1-9][0-9]*)$/.test(key) && Number(key) < 2 ** 32 - 1;
const TypedArray = Object.getPrototypeOf(Uint8Array);
const typedTag = (value) => Reflect.getOwnPropertyDescriptor(TypedArray.prototype, Symbol.toStringTag).get.call(value);

function has(value, probe) {
  try { probe.call(value); return true; } catch { return false; }
}
const getterOf = (proto, name) => Object.getOwnPropertyDescriptor(proto, name).get;
const mapSize = getterOf(Map.prototype, 'size'), setSize = getterOf(Set.prototype, 'size');
const bufferSize = getterOf(ArrayBuffer.prototype, 'byteLength');

const is = {
  map: (v) => v instanceof Map && has(v, mapSize),
  set: (v) => v instanceof Set && has(v, setSize),
  date: (v) => v instanceof Date && has(v, Date.prototype.getTime),
  regexp: (v) => v instanceof RegExp,
  error: (v) => v instanceof Error || tagOf(v) === 'Error',
  promise: (v) => v instanceof Promise,
  buffer: (v) => v instanceof ArrayBuffer && has(v, bufferSize),
  boxed: (v) => v instanceof Number || v instanceof String || v instanceof Boolean || v instanceof Symbol || v instanceof BigInt,
};

function inspect(value, options, ...rest) {
  const ctx = { ...defaults, seen: [], indentation: 0, current: undefined, level: 0, circular: undefined };
  if (typeof options === 'object' && options !== null) {
    for (const key of Object.keys(options)) if (options[key] !== undefined || key in defaults) ctx[key] = options[key];
  } else if (options !== undefined) {
    ctx.showHidden = !!options;
    if (rest.length > 0) ctx.depth = rest[0];
    if (rest.length > 1) ctx.colors = rest[1];
  }
  if (ctx.maxArrayLength === null) ctx.maxArrayLength = Infinity;
  if (ctx.maxStringLength === null) ctx.maxStringLength = Infinity;
  if (ctx.depth === null) ctx.depth = Infinity;
  return format(ctx, value, 0, true);
}

function optionsOf(ctx) {
  const out = {};
  for (const key of Object.keys(defaults)) out[key] = ctx[key];
  out.stylize = (text, style) => paint(ctx, text, style);
  return out;
}

function format(ctx, value, depth, typed) {
  if ((typeof value !== 'object' && typeof value !== 'function') || value === null) return primitive(ctx, value);
  if (ctx.customInspect) {
    const own = value[custom];
    if (typeof own === 'function' && own !== inspect &&
        !(value.constructor && value.constructor.prototype === value)) {
      const left = ctx.depth === null ? null : ctx.depth - depth;
      const result = own.call(value, left, { ...optionsOf(ctx), depth: left }, inspect);
      if (result !== value) {
        return typeof result === 'object' && result !== null
          ? format(ctx, result, depth) : String(result).replaceAll('\n', `\n${' '.repeat(ctx.indentation)}`);
      }
    }
  }
  if (ctx.seen.includes(value)) {
    ctx.circular ??= new Map();
    if (!ctx.circular.has(value)) ctx.circular.set(value, ctx.circular.size + 1);
    return paint(ctx, `[Circular *${ctx.circular.get(value)}]`, 'special');
  }
  return raw(ctx, value, depth, typed);
}

function classBase(value, name, tag) {
  const own = Object.prototype.hasOwnProperty.call(value, 'name') ? value.name : '';
  let base = `[class ${own || '(anonymous)'}`;
  if (name !== 'Function' && name !== null) base += ` [${name}]`;
  if (tag !== '' && name !== tag) base += ` [${tag}]`;
  const parent = Object.getPrototypeOf(value);
  if (name !== null) { if (parent && parent.name) base += ` extends ${parent.name}`; } else base += ' extends null';
  return base + ']';
}

function functionBase(value, name, tag) {
  const source = Function.prototype.toString.call(value);
  if (source.startsWith('class') && source.endsWith('}')) return classBase(value, name, tag);
  const kind = { GeneratorFunction: 'GeneratorFunction', AsyncFunction: 'AsyncFunction', AsyncGeneratorFunction: 'AsyncGeneratorFunction' }[tagOf(value)] ?? 'Function';
  let base = `[${kind}`;
  if (name === null) base += ' (null prototype)';
  base += value.name === '' || typeof value.name !== 'string' ? ' (anonymous)' : `: ${value.name}`;
  base += ']';
  if (name !== kind && name !== null) base += ` ${name}`;
  if (tag !== '' && name !== tag && tag !== kind) base += ` [${tag}]`;
  return base;
}

// V8 writes the first line when the stack is first asked for, with the name that the error
// has by then; here it is written when the error is made.
function stackOf(error) {
  let stack = error.stack;
  if (typeof stack === 'string' && typeof error.name === 'string') {
    const kind = /^(?:Error|(?:Eval|Range|Reference|Syntax|Type|URI|Aggregate)Error)(?=:|\n|$)/.exec(stack);
    if (kind && kind[0] !== error.name && Object.prototype.hasOwnProperty.call(error, 'name')) stack = error.name + stack.slice(kind[0].length);
  }
  return typeof stack === 'string' && stack !== '' ? stack.replace(/\n+$/, '') : Error.prototype.toString.call(error);
}

// Frames of this program itself say nothing to its user.
const frames = (stack) => stack.split('\n').filter((line) => !/^ {4}at .*(\(node:|native\))/.test(line)).join('\n');

function errorBase(ctx, error, name, tag, keys) {
  const own = error.name != null ? String(error.name) : 'Error';
  let stack = frames(stackOf(error));
  for (const key of ['name', 'message', 'stack']) {
    const at = keys.indexOf(key);
    if (at !== -1 && (typeof error[key] !== 'string' || stack.includes(error[key]))) keys.splice(at, 1);
  }
  if ('cause' in error && !keys.includes('cause')) keys.push('cause');
  if (Array.isArray(error.errors) && !keys.includes('errors')) keys.push('errors');
  // The class tells more than the name it inherits.
  if (name === null || (own.endsWith('Error') && stack.startsWith(own) &&
      (stack.length === own.length || stack[own.length] === ':' || stack[own.length] === '\n'))) {
    if (name === null) {
      const found = /^([A-Z][A-Za-z_0-9[\]()-]*)(?::|\n\s+at)/.exec(stack) ?? /^([A-Za-z_0-9-]*Error)$/.exec(stack);
      const fallback = (found && found[1]) || '';
      stack = `${prefix(name, tag, 'Error').slice(0, -1)}${stack.slice(fallback.length)}`;
    } else if (!own.includes(name)) {
      stack = name.includes(own)
        ? `${name}${stack.slice(own.length)}` : `${name} [${own}]${stack.slice(own.length)}`;
    }
  }
  // Without frames it is in brackets.
  const at = stack.indexOf('\n    at');
  if (at === -1) stack = `[${stack}]`;
  if (ctx.indentation !== 0) stack = stack.replaceAll('\n', `\n${' '.repeat(ctx.indentation)}`);
  return stack;
}

const remaining = (count) => `... ${count} more item${count > 1 ? 's' : ''}`;

function arrayEntries(ctx, value, depth) {
  const out = [], limit = Math.min(Math.max(0, ctx.maxArrayLength), value.length);
  let shown = 0, i = 0;
  for (; i < value.length && shown < limit; i++, shown++) {
    if (!Object.prototype.hasOwnProperty.call(value, i)) {
      let end = i;
      while (end < value.length && !Object.prototype.hasOwnProperty.call(value, end)) end++;
      out.push(paint(ctx, `<${end - i} empty item${end - i > 1 ? 's' : ''}>`, 'undefined'));
      i = end - 1;
    } else out.push(property(ctx, value, depth, String(i), 1));
  }
  if (i < value.length) out.push(remaining(value.length - i));
  return out;
}

function setEntries(ctx, value, depth) {
  const out = [];
  ctx.indentation += 2;
  let count = 0;
  for (const item of Set.prototype.values.call(value)) {
    if (count++ >= ctx.maxArrayLength) { out.push(remaining(value.size - ctx.maxArrayLength)); break; }
    out.push(format(ctx, item, depth));
  }
  ctx.indentation -= 2;
  return out;
}

function mapEntries(ctx, value, depth) {
  const out = [];
  ctx.indentation += 2;
  let count = 0;
  for (const [key, item] of Map.prototype.entries.call(value)) {
    if (count++ >= ctx.maxArrayLength) { out.push(remaining(value.size - ctx.maxArrayLength)); break; }
    out.push(`${format(ctx, key, depth)} => ${format(ctx, item, depth)}`);
  }
  ctx.indentation -= 2;
  return out;
}

function typedEntries(ctx, value) {
  const limit = Math.min(Math.max(0, ctx.maxArrayLength), value.length), out = [];
  for (let i = 0; i < limit; i++) out.push(primitive(ctx, value[i]));
  if (value.length > limit) out.push(remaining(value.length - limit));
  return out;
}

function raw(ctx, value, depth, typed) {
  const name = constructorName(value);
  let tag = value[Symbol.toStringTag];
  if (typeof tag !== 'string' || (tag !== '' && (ctx.showHidden ? Object.prototype.hasOwnProperty.call(value, Symbol.toStringTag)
      : Object.prototype.propertyIsEnumerable.call(value, Symbol.toStringTag)))) tag = '';
  let keys = ownKeys(value, ctx.showHidden), braces = ['{', '}'], base = '', entries = () => [], list = false, start = 0;

  if (Array.isArray(value)) {
    keys = keys.filter((key) => !isIndex(key));
    const before = name !== 'Array' || tag !== '' ? prefix(name, tag, 'Array', `(${value.length})`) : '';
    braces = [`${before}[`, ']'];
    if (value.length === 0 && keys.length === 0) return `${braces[0]}]`;
    list = true; start = 2; entries = arrayEntries;
  } else if (is.set(value)) {
    braces[0] = `${prefix(name, tag, 'Set', `(${value.size})`)}{`;
    if (value.size === 0 && keys.length === 0) return `${braces[0]}}`;
    entries = setEntries;
  } else if (is.map(value)) {
    braces[0] = `${prefix(name, tag, 'Map', `(${value.size})`)}{`;
    if (value.size === 0 && keys.length === 0) return `${braces[0]}}`;
    entries = mapEntries;
  } else if (ArrayBuffer.isView(value) && !(value instanceof DataView)) {
    const kind = typedTag(value);
    keys = keys.filter((key) => !isIndex(key));
    const size = value.length;
    braces = [`${prefix(name, tag, kind, `(${size})`)}[`, ']'];
    if (size === 0 && keys.length === 0) return `${braces[0]}]`;
    list = true; start = 2; entries = typedEntries;
  } else if (tag === 'Map Iterator' || tag === 'Set Iterator' || tag === 'Array Iterator') {
    if (keys.length === 0) return `${prefix(name, tag, tag)}{}`;
    braces[0] = `${prefix(name, tag, tag)}{`;
  } else if (tagOf(value) === 'Arguments' && name === 'Object') {
    keys = keys.filter((key) => !isIndex(key));
    keys = Object.keys(value);
    braces[0] = '[Arguments] {';
    if (keys.length === 0) return '[Arguments] {}';
  } else if (typeof value === 'function') {
    base = functionBase(value, name, tag);
    if (ctx.showHidden) keys = keys.filter((key) => !['length', 'name', 'prototype', 'arguments', 'caller'].includes(key));
    if (keys.length === 0) return paint(ctx, base, 'special');
  } else if (is.regexp(value)) {
    base = RegExp.prototype.toString.call(value);
    const before = prefix(name, tag, 'RegExp');
    if (before !== 'RegExp ') base = before + base;
    keys = keys.filter((key) => key !== 'lastIndex');
    if (keys.length === 0 || depth > ctx.depth) return paint(ctx, base, 'regexp');
  } else if (is.date(value)) {
    const time = value.getTime();
    base = Number.isNaN(time) ? 'Invalid Date' : value.toISOString();
    const before = prefix(name, tag, 'Date');
    if (before !== 'Date ') base = before + base;
    if (keys.length === 0) return paint(ctx, base, 'date');
  } else if (is.error(value)) {
    base = errorBase(ctx, value, name, tag, keys);
    if (keys.length === 0) return base;
  } else if (is.buffer(value)) {
    const bytes = new Uint8Array(value), shown = Math.min(Math.max(0, ctx.maxArrayLength), 50, bytes.length);
    let text = Array.from(bytes.subarray(0, shown), (byte) => byte.toString(16).padStart(2, '0')).join(' ');
    if (bytes.length > shown) text += ` ... ${bytes.length - shown} more byte${bytes.length - shown > 1 ? 's' : ''}`;
    braces[0] = `${prefix(name, tag, 'ArrayBuffer')}{`;
    entries = () => [`[Uint8Contents]: <${text}>`, `byteLength: ${primitive(ctx, value.byteLength)}`];
  } else if (value instanceof DataView) {
    braces[0] = `${prefix(name, tag, 'DataView')}{`;
    keys = ['byteLength', 'byteOffset', 'buffer', ...keys];
  } else if (is.promise(value)) {
    braces[0] = `${prefix(name, tag, 'Promise')}{`;
    entries = () => {
      const state = sys.promise(value);
      if (state === null) return [paint(ctx, '<pending>', 'special')];
      ctx.indentation += 2;
      const text = format(ctx, state[1], depth);
      ctx.indentation -= 2;
      return [state[0] ? text : `${paint(ctx, '<rejected>', 'special')} ${text}`];
    };
  } else if (value instanceof WeakSet || value instanceof WeakMap) {
    braces[0] = `${prefix(name, tag, value instanceof WeakSet ? 'WeakSet' : 'WeakMap')}{`;
    entries = () => [paint(ctx, '<items unknown>', 'special')];
  } else if (typeof WeakRef === 'function' && value instanceof WeakRef) {
    braces[0] = `${prefix(name, tag, 'WeakRef')}{`;
    entries = () => [format(ctx, value.deref(), depth)];
  } else if (is.boxed(value)) {
    const inner = value.valueOf(), kind = typeof inner;
    const type = kind[0].toUpperCase() + kind.slice(1).replace('igint', 'igInt');
    if (kind === 'string') keys = keys.filter((key) => !isIndex(key) && key !== 'length');
    base = `[${type}`;
    if (type !== name) base += name === null ? ' (null prototype)' : ` (${name})`;
    base += `: ${primitive({ ...ctx, colors: false }, inner)}]`;
    if (tag !== '' && tag !== name) base += ` [${tag}]`;
    if (keys.length === 0) return paint(ctx, base, kind);
  } else if (tagOf(value) === 'Module') {
    braces[0] = `${prefix(name, tag, 'Module')}{`;
    if (name === null) braces[0] = '[Module: null prototype] {';
  } else {
    if (tagOf(value) === 'Object' && name === 'Object' && tag === '') {
      if (keys.length === 0) return '{}';
    } else {
      const before = name === 'Object' && tag === '' ? '' : prefix(name, tag, 'Object');
      braces[0] = `${before}{`;
      if (keys.length === 0) return `${braces[0]}}`;
    }
  }

  if (depth > ctx.depth) {
    const short = prefix(name, tag, Array.isArray(value) ? 'Array' : 'Object').slice(0, -1);
    return paint(ctx, name === null ? short.replace(/^\[(.*)\]$/, '[$1]') : `[${short}]`, 'special');
  }
  ctx.seen.push(value);
  ctx.level = depth;
  let out;
  const indentation = ctx.indentation;
  try {
    out = entries(ctx, value, depth + 1);
    for (const key of keys) out.push(property(ctx, value, depth + 1, key, start));
  } finally {
    ctx.indentation = indentation;
  }
  ctx.seen.pop();
  if (ctx.circular !== undefined && ctx.circular.has(value)) {
    const mark = paint(ctx, `<ref *${ctx.circular.get(value)}>`, 'special');
    if (ctx.compact !== true) base = base === '' ? mark : `${mark} ${base}`;
    else braces[0] = `${mark} ${braces[0]}`;
  }
  if (ctx.sorted) {
    const order = ctx.sorted === true ? undefined : ctx.sorted;
    if (list) out = out.slice(0, out.length - keys.length).concat(out.slice(out.length - keys.length).sort(order));
    else out.sort(order);
  }
  return reduce(ctx, out, base, braces, list, depth, value);
}

function property(ctx, value, depth, key, kind) {
  const desc = Object.getOwnPropertyDescriptor(value, key) ?? { value: value[key], configurable: true, enumerable: true };
  let text;
  if (desc.value !== undefined || 'value' in desc) {
    const indent = ctx.compact !== true || kind !== 0 ? 2 : 3;
    ctx.indentation += indent;
    text = format(ctx, desc.value, depth);
    if (indent === 3 && ctx.breakLength < width(ctx, text)) text = `\n${' '.repeat(ctx.indentation)}${text}`;
    ctx.indentation -= indent;
  } else if (desc.get !== undefined) {
    const label = desc.set !== undefined ? '[Getter/Setter]' : '[Getter]';
    text = paint(ctx, label, 'special');
    if (ctx.getters && (ctx.getters === true || (ctx.getters === 'get') === (desc.set === undefined))) {
      try {
        ctx.indentation += 2;
        const got = desc.get.call(value);
        text = `${label.slice(0, -1)}: ${format(ctx, got, depth)}]`;
        ctx.indentation -= 2;
      } catch (error) { text = `${label.slice(0, -1)}: <Inspection threw (${error.message})>]`; }
    }
  } else text = paint(ctx, desc.set !== undefined ? '[Setter]' : 'undefined', desc.set !== undefined ? 'special' : 'undefined');
  if (kind === 1) return text;
  let label;
  if (typeof key === 'symbol') label = `[${paint(ctx, symbolText(key), 'symbol')}]`;
  else if (key === '__proto__') label = "['__proto__']";
  else if (desc.enumerable === false) label = `[${key}]`;
  else label = isIdentifier(key) ? key : paint(ctx, quote(key), 'string');
  return `${label}: ${text}`;
}

const plain = (text) => text.replace(/\u001b\[\d+m/g, '');
const width = (ctx, text) => ctx.colors ? plain(text).length : text.length;

// Many short entries of an array stand in columns.
function group(ctx, out, value) {
  let total = 0, longest = 0, i = 0;
  let count = out.length;
  if (ctx.maxArrayLength < out.length) count--;
  const lengths = new Array(count);
  for (; i < count; i++) {
    const length = display(ctx.colors ? plain(out[i]) : out[i]);
    lengths[i] = length;
    total += length + 2;
    if (longest < length) longest = length;
  }
  const actual = longest + 2;
  if (actual * 3 + ctx.indentation >= ctx.breakLength || !(total / actual > 5 || longest <= 6)) return out;
  const width = Math.max(actual - 3 - Math.sqrt(actual - total / out.length), 1);
  const columns = Math.min(
    Math.round(Math.sqrt(2.5 * width * count) / width),
    Math.floor((ctx.breakLength - ctx.indentation) / actual),
    ctx.compact * 4,
    15,
  );
  if (columns <= 1) return out;
  const rows = [], widths = [];
  for (let column = 0; column < columns; column++) {
    let most = 0;
    for (let j = column; j < count; j += columns) if (lengths[j] > most) most = lengths[j];
    widths.push(most + 2);
  }
  let pad = String.prototype.padStart;
  if (value !== undefined) {
    for (let j = 0; j < out.length; j++) {
      if (typeof value[j] !== 'number' && typeof value[j] !== 'bigint') { pad = String.prototype.padEnd; break; }
    }
  }
  for (let row = 0; row < count; row += columns) {
    const end = Math.min(row + columns, count);
    let line = '', j = row;
    for (; j < end - 1; j++) {
      line += pad.call(`${out[j]}, `, widths[j - row] + out[j].length - lengths[j], ' ');
    }
    if (pad === String.prototype.padStart) {
      line += out[j].padStart(widths[j - row] + out[j].length - lengths[j] - 2, ' ');
    } else line += out[j];
    rows.push(line);
  }
  for (let j = count; j < out.length; j++) rows.push(out[j]);
  return rows;
}

// Columns that a text takes: wide characters two, combining ones none.
function display(text) {
  if (/^[\x20-\x7e]*$/.test(text)) return text.length;
  let columns = 0;
  for (const char of text.normalize('NFC')) {
    const code = char.codePointAt(0);
    if (/\p{Mn}|\p{Me}|\p{Cf}/u.test(char) || code < 32 || (code >= 127 && code < 160)) continue;
    columns += (code >= 0x1100 && code <= 0x115f) || (code >= 0x2e80 && code <= 0xa4cf && code !== 0x303f) ||
      (code >= 0xac00 && code <= 0xd7a3) || (code >= 0xf900 && code <= 0xfaff) || (code >= 0xfe30 && code <= 0xfe6f) ||
      (code >= 0xff00 && code <= 0xff60) || (code >= 0xffe0 && code <= 0xffe6) || (code >= 0x1f300 && code <= 0x1f64f) ||
      (code >= 0x1f900 && code <= 0x1f9ff) || (code >= 0x20000 && code <= 0x3fffd) ? 2 : 1;
  }
  return columns;
}

function reduce(ctx, out, base, braces, list, depth, value) {
  if (ctx.compact !== true) {
    if (typeof ctx.compact === 'number' && ctx.compact >= 1) {
      const entries = out.length;
      if (list && entries > 6) out = group(ctx, out, value);
      if (ctx.level - depth < ctx.compact && entries === out.length) {
        const start = out.length + ctx.indentation + braces[0].length + base.length + 10;
        if (fits(ctx, out, start, base)) {
          const joined = out.join(', ');
          if (!joined.includes('\n')) return `${base ? `${base} ` : ''}${braces[0]} ${joined} ${braces[1]}`;
        }
      }
    }
    const indent = `\n${' '.repeat(ctx.indentation)}`;
    return `${base ? `${base} ` : ''}${braces[0]}${indent}  ${out.join(`,${indent}  `)}${indent}${braces[1]}`;
  }
  if (fits(ctx, out, 0, base)) return `${braces[0]}${base ? ` ${base}` : ''} ${out.join(', ')} ${braces[1]}`;
  const indent = `\n${' '.repeat(ctx.indentation)}`;
  const line = base === '' && braces[0].length === 1 ? ' ' : `${base ? ` ${base}` : ''}\n${indent}  `;
  return `${braces[0]}${line}${out.join(`,${indent}  `)} ${braces[1]}`;
}

function fits(ctx, out, start, base) {
  let total = out.length + start;
  if (total + out.length > ctx.breakLength) return false;
  for (const text of out) {
    total += width(ctx, text);
    if (total > ctx.breakLength) return false;
  }
  return base === '' || !base.includes('\n');
}

// What %s makes of an object: its own toString, or a short form.
function asText(value) {
  if (typeof value === 'bigint') return `${value}n`;
  if (typeof value === 'number') return Object.is(value, -0) ? '-0' : String(value);
  if (typeof value !== 'object' || value === null) return String(value);
  let object = value;
  while (object !== null && object !== Object.prototype && object !== Error.prototype && object !== Array.prototype) {
    if (Object.prototype.hasOwnProperty.call(object, 'toString') && !builtin(object)) return String(value);
    object = Object.getPrototypeOf(object);
  }
  if (object === Error.prototype) return String(value);
  return inspect(value, { depth: 0, colors: false, compact: 3 });
}
const builtin = (object) => [Map, Set, Promise, RegExp, Function, Date].some((type) => type.prototype === object);

function formatWithOptions(options, ...args) {
  const first = args[0];
  let text = '', used = 0, join = '';
  if (typeof first === 'string') {
    if (args.length === 1) return first;
    let last = 0;
    for (let i = 0; i < first.length - 1; i++) {
      if (first[i] !== '%') continue;
      const kind = first[++i];
      if (kind === '%') { text += first.slice(last, i); last = i + 1; continue; }
      if (used + 1 === args.length || !'sjdOoifc'.includes(kind)) continue;
      const value = args[++used];
      let piece;
      switch (kind) {
        case 's': piece = asText(value); break;
        case 'j':
          try { piece = JSON.stringify(value); } catch (error) {
            if (!/circular/i.test(error.message)) throw error;
            piece = '[Circular]';
          }
          break;
        case 'd': piece = typeof value === 'bigint' ? `${value}n` : typeof value === 'symbol' ? 'NaN' : number({}, Number(value)); break;
        case 'i': piece = typeof value === 'bigint' ? `${value}n` : typeof value === 'symbol' ? 'NaN' : number({}, parseInt(value)); break;
        case 'f': piece = typeof value === 'symbol' ? 'NaN' : number({}, parseFloat(value)); break;
        case 'O': piece = inspect(value, options); break;
        case 'o': piece = inspect(value, { ...options, showHidden: true, showProxy: true, depth: 4 }); break;
        default: piece = '';
      }
      text += first.slice(last, i - 1) + piece;
      last = i + 1;
    }
    if (last !== 0 || used > 0) {
      used++;
      join = ' ';
      text += first.slice(last);
    }
  }
  for (; used < args.length; used++) {
    text += join + (typeof args[used] === 'string' ? args[used] : inspect(args[used], options));
    join = ' ';
  }
  return text;
}

const formatText = (...args) => formatWithOptions({}, ...args);
inspect.custom = custom;
inspect.defaultOptions = defaults;
inspect.colors = { reset: [0, 0], bold: [1, 22], italic: [3, 23], underline: [4, 24], inverse: [7, 27], black: [30, 39], red: [31, 39], green: [32, 39], yellow: [33, 39], blue: [34, 39], magenta: [35, 39], cyan: [36, 39], white: [37, 39], gray: [90, 39], grey: [90, 39] };
inspect.styles = { special: 'cyan', number: 'yellow', bigint: 'yellow', boolean: 'yellow', undefined: 'grey', null: 'bold', string: 'green', symbol: 'green', date: 'magenta', regexp: 'red', module: 'underline' };
module.exports = { inspect, format: formatText, formatWithOptions, frames, stackOf };
