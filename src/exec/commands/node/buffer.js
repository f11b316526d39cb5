// `Buffer`: bytes with text on them. Conversions are done outside of JavaScript.
const { argType, coded } = require('errors');

const ENCODINGS = { utf8: 'utf8', 'utf-8': 'utf8', hex: 'hex', base64: 'base64', base64url: 'base64url', ascii: 'ascii', latin1: 'latin1', binary: 'latin1', ucs2: 'utf16le', 'ucs-2': 'utf16le', utf16le: 'utf16le', 'utf-16le': 'utf16le' };

function encoding(name) {
  if (name === undefined || name === null || name === 'buffer') return 'utf8';
  const known = ENCODINGS[String(name).toLowerCase()];
  if (!known) throw coded(TypeError, 'ERR_UNKNOWN_ENCODING', `Unknown encoding: ${name}`);
  return known;
}

const wrap = (bytes) => Object.setPrototypeOf(new Uint8Array(bytes), Buffer.prototype);

class FastBuffer extends Uint8Array {
  static get [Symbol.species]() { return FastBuffer; }

  toString(name, start = 0, end = this.length) {
    start = Math.max(0, Math.trunc(start) || 0);
    end = Math.min(this.length, Math.trunc(end));
    if (start >= end) return '';
    const part = start === 0 && end === this.length ? this : this.subarray(start, end);
    return sys.decode(part, encoding(name));
  }
  toLocaleString(name, start, end) { return this.toString(name, start, end); }
  toJSON() { return { type: 'Buffer', data: Array.from(this) }; }
  equals(other) { return Buffer.compare(this, other) === 0; }
  compare(other, start = 0, end = other.length, from = 0, to = this.length) {
    return Buffer.compare(this.subarray(from, to), other.subarray(start, end));
  }
  write(text, offset, length, name) {
    if (typeof offset === 'string') { name = offset; offset = 0; length = undefined; }
    else if (typeof length === 'string') { name = length; length = undefined; }
    offset ??= 0;
    const room = Math.min(length ?? this.length - offset, this.length - offset);
    let bytes = new Uint8Array(sys.encode(String(text), encoding(name)));
    if (bytes.length > room) {
      let cut = room;
      // No half characters.
      if (encoding(name) === 'utf8') while (cut > 0 && (bytes[cut] & 0xc0) === 0x80) cut--;
      bytes = bytes.subarray(0, cut);
    }
    this.set(bytes, offset);
    return bytes.length;
  }
  copy(target, to = 0, start = 0, end = this.length) {
    const part = this.subarray(start, Math.min(end, start + target.length - to));
    target.set(part, to);
    return part.length;
  }
  slice(start, end) { return this.subarray(start, end); }
  subarray(start, end) {
    const part = super.subarray(start, end);
    return Object.setPrototypeOf(part, Buffer.prototype);
  }
  fill(value, start = 0, end = this.length, name) {
    if (typeof start === 'string') { name = start; start = 0; end = this.length; }
    else if (typeof end === 'string') { name = end; end = this.length; }
    if (typeof value === 'number') return super.fill(value & 255, start, end);
    const bytes = typeof value === 'string' ? new Uint8Array(sys.encode(value, encoding(name))) : value;
    if (bytes.length === 0) return super.fill(0, start, end);
    for (let i = start; i < end; i++) this[i] = bytes[(i - start) % bytes.length];
    return this;
  }
  indexOf(value, from = 0, name) { return find(this, value, from, name, false); }
  lastIndexOf(value, from = this.length, name) { return find(this, value, from, name, true); }
  includes(value, from = 0, name) { return this.indexOf(value, from, name) !== -1; }
  swap16() { return swap(this, 2); }
  swap32() { return swap(this, 4); }
  swap64() { return swap(this, 8); }
  readUIntBE(at, size) { let out = 0; for (let i = 0; i < size; i++) out = out * 256 + this[at + i]; return out; }
  readUIntLE(at, size) { let out = 0; for (let i = size - 1; i >= 0; i--) out = out * 256 + this[at + i]; return out; }
  readIntBE(at, size) { const v = this.readUIntBE(at, size); return v >= 2 ** (8 * size - 1) ? v - 2 ** (8 * size) : v; }
  readIntLE(at, size) { const v = this.readUIntLE(at, size); return v >= 2 ** (8 * size - 1) ? v - 2 ** (8 * size) : v; }
  writeUIntBE(value, at, size) { for (let i = size - 1; i >= 0; i--) { this[at + i] = value % 256; value = Math.floor(value / 256); } return at + size; }
  writeUIntLE(value, at, size) { for (let i = 0; i < size; i++) { this[at + i] = value % 256; value = Math.floor(value / 256); } return at + size; }
  writeIntBE(value, at, size) { return this.writeUIntBE(value < 0 ? value + 2 ** (8 * size) : value, at, size); }
  writeIntLE(value, at, size) { return this.writeUIntLE(value < 0 ? value + 2 ** (8 * size) : value, at, size); }
  get parent() { return this.buffer; }
  get offset() { return this.byteOffset; }
  [Symbol.for('nodejs.util.inspect.custom')](_depth, options, inspect) {
    const shown = Math.min(50, this.length);
    let text = Array.from(this.subarray(0, shown), (byte) => byte.toString(16).padStart(2, '0')).join(' ');
    if (this.length > shown) text += ` ... ${this.length - shown} more byte${this.length - shown > 1 ? 's' : ''}`;
    return `<${this.constructor.name === 'FastBuffer' ? 'Buffer' : this.constructor.name}${text === '' ? '' : ' ' + text}>`.replace('<Buffer>', '<Buffer >');
  }
}

// readInt8 … writeDoubleBE, from DataView's.
for (const [name, kind, size] of [['UInt8', 'Uint8', 1], ['Int8', 'Int8', 1], ['UInt16', 'Uint16', 2], ['Int16', 'Int16', 2], ['UInt32', 'Uint32', 4], ['Int32', 'Int32', 4], ['BigUInt64', 'BigUint64', 8], ['BigInt64', 'BigInt64', 8], ['Float', 'Float32', 4], ['Double', 'Float64', 8]]) {
  for (const end of size === 1 ? [''] : ['LE', 'BE']) {
    const little = end === 'LE';
    const check = (buffer, at) => {
      if (at < 0 || at + size > buffer.length) {
        throw coded(RangeError, 'ERR_OUT_OF_RANGE', `The value of "offset" is out of range. It must be >= 0 and <= ${buffer.length - size}. Received ${at}`);
      }
      return new DataView(buffer.buffer, buffer.byteOffset, buffer.byteLength);
    };
    define(`read${name}${end}`, function (at = 0) { return check(this, at)[`get${kind}`](at, little); });
    define(`write${name}${end}`, function (value, at = 0) { check(this, at)[`set${kind}`](at, value, little); return at + size; });
  }
}
function define(name, value) {
  Object.defineProperty(FastBuffer.prototype, name, { value, writable: true, configurable: true });
  const alias = name.replace('UInt', 'Uint');
  if (alias !== name) Object.defineProperty(FastBuffer.prototype, alias, { value, writable: true, configurable: true });
}

function swap(buffer, size) {
  for (let i = 0; i + size <= buffer.length; i += size) Uint8Array.prototype.reverse.call(new Uint8Array(buffer.buffer, buffer.byteOffset + i, size));
  return buffer;
}

function find(buffer, value, from, name, last) {
  if (typeof from === 'string') { name = from; from = last ? buffer.length : 0; }
  if (from < 0) from = Math.max(0, buffer.length + from);
  if (typeof value === 'number') {
    return last ? Uint8Array.prototype.lastIndexOf.call(buffer, value & 255, from) : Uint8Array.prototype.indexOf.call(buffer, value & 255, from);
  }
  const wanted = typeof value === 'string' ? new Uint8Array(sys.encode(value, encoding(name))) : value;
  const step = last ? -1 : 1;
  for (let i = last ? Math.min(from, buffer.length - wanted.length) : from; i >= 0 && i + wanted.length <= buffer.length; i += step) {
    let j = 0;
    while (j < wanted.length && buffer[i + j] === wanted[j]) j++;
    if (j === wanted.length) return i;
  }
  return -1;
}

function Buffer(value, name, length) {
  return typeof value === 'number' ? Buffer.alloc(value) : Buffer.from(value, name, length);
}
Buffer.prototype = FastBuffer.prototype;
Object.defineProperty(Buffer.prototype, 'constructor', { value: Buffer, writable: true, configurable: true });
Object.setPrototypeOf(Buffer, Uint8Array);

Object.assign(Buffer, {
  poolSize: 8192,
  from(value, name, length) {
    if (typeof value === 'string') return wrap(sys.encode(value, encoding(name)));
    if (value instanceof ArrayBuffer || (typeof SharedArrayBuffer === 'function' && value instanceof SharedArrayBuffer)) {
      return Object.setPrototypeOf(new Uint8Array(value, name, length), Buffer.prototype);
    }
    if (value && typeof value === 'object') {
      if (value.type === 'Buffer' && Array.isArray(value.data)) return wrap(value.data);
      if (ArrayBuffer.isView(value) || Array.isArray(value) || typeof value.length === 'number') return wrap(value);
      const inner = value.valueOf && value.valueOf();
      if (inner != null && inner !== value) return Buffer.from(inner, name, length);
    }
    throw argType('first', 'of type string or an instance of Buffer, ArrayBuffer, or Array or an Array-like Object', value);
  },
  of: (...bytes) => wrap(bytes),
  alloc(size, fill, name) {
    if (typeof size !== 'number') throw argType('size', 'of type number', size);
    const buffer = wrap(size);
    return fill === undefined || fill === 0 ? buffer : buffer.fill(fill, 0, size, name);
  },
  allocUnsafe: (size) => Buffer.alloc(size),
  allocUnsafeSlow: (size) => Buffer.alloc(size),
  byteLength(value, name) {
    if (typeof value === 'string') return encoding(name) === 'latin1' || encoding(name) === 'ascii' ? value.length : sys.encode(value, encoding(name)).byteLength;
    return value.byteLength;
  },
  isBuffer: (value) => value instanceof Buffer,
  isEncoding: (name) => typeof name === 'string' && name.toLowerCase() in ENCODINGS,
  concat(list, total) {
    total ??= list.reduce((sum, item) => sum + item.length, 0);
    const out = Buffer.alloc(total);
    let at = 0;
    for (const item of list) {
      if (at >= total) break;
      out.set(at + item.length > total ? item.subarray(0, total - at) : item, at);
      at += item.length;
    }
    return out;
  },
  compare(a, b) {
    const length = Math.min(a.length, b.length);
    for (let i = 0; i < length; i++) if (a[i] !== b[i]) return a[i] < b[i] ? -1 : 1;
    return a.length === b.length ? 0 : a.length < b.length ? -1 : 1;
  },
});

class TextEncoder {
  get encoding() { return 'utf-8'; }
  encode(text = '') { return new Uint8Array(sys.encode(String(text), 'utf8')); }
  encodeInto(text, target) {
    const bytes = this.encode(text).subarray(0, target.length);
    target.set(bytes);
    return { read: text.length, written: bytes.length };
  }
}

class TextDecoder {
  constructor(label = 'utf-8', options = {}) {
    this.encoding = { utf8: 'utf-8', utf16le: 'utf-16le', latin1: 'windows-1252', ascii: 'windows-1252' }[encoding(label)];
    if (!this.encoding) throw coded(RangeError, 'ERR_ENCODING_NOT_SUPPORTED', `The "${label}" encoding is not supported`);
    this.fatal = !!options.fatal;
    this.ignoreBOM = !!options.ignoreBOM;
    Object.defineProperty(this, 'rest', { value: new Uint8Array(0), writable: true });
  }
  decode(input, options = {}) {
    let bytes = input === undefined ? new Uint8Array(0) : ArrayBuffer.isView(input) ? new Uint8Array(input.buffer, input.byteOffset, input.byteLength) : new Uint8Array(input);
    if (this.rest.length > 0) bytes = new Uint8Array([...this.rest, ...bytes]);
    this.rest = new Uint8Array(0);
    if (this.encoding === 'utf-8') {
      if (options.stream) {
        const keep = incomplete(bytes);
        this.rest = bytes.slice(bytes.length - keep);
        bytes = bytes.subarray(0, bytes.length - keep);
      }
      if (this.fatal && !sys.isUtf8(bytes)) throw coded(TypeError, 'ERR_ENCODING_INVALID_ENCODED_DATA', 'The encoded data was not valid for encoding utf-8');
    }
    const text = sys.decode(bytes, { 'utf-8': 'utf8', 'utf-16le': 'utf16le' }[this.encoding] ?? 'latin1');
    return !this.ignoreBOM && text[0] === '\ufeff' ? text.slice(1) : text;
  }
}

// Bytes at the end that begin a character of UTF-8 and do not end it.
function incomplete(bytes) {
  for (let back = 1; back <= Math.min(3, bytes.length); back++) {
    const byte = bytes[bytes.length - back];
    if ((byte & 0xc0) === 0x80) continue;
    const needs = byte >= 0xf0 ? 4 : byte >= 0xe0 ? 3 : byte >= 0xc0 ? 2 : 1;
    return needs > back ? back : 0;
  }
  return 0;
}

const atob = (text) => sys.decode(new Uint8Array(sys.encode(String(text), 'base64')), 'latin1');
const btoa = (text) => {
  for (const char of String(text)) if (char.charCodeAt(0) > 255) throw new DOMException('Invalid character', 'InvalidCharacterError');
  return sys.decode(new Uint8Array(sys.encode(String(text), 'latin1')), 'base64');
};

module.exports = { Buffer, SlowBuffer: Buffer, TextEncoder, TextDecoder, atob, btoa, encoding, incomplete, kMaxLength: 2 ** 31 - 1, constants: { MAX_LENGTH: 2 ** 31 - 1, MAX_STRING_LENGTH: 2 ** 29 - 24 } };
