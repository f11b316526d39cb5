// Globals of the web that Node has too.
const EventEmitter = require('events');

class DOMException extends Error {
  #name;
  constructor(message = '', name = 'Error') { super(message); this.#name = typeof name === 'object' ? name.name ?? 'Error' : name; }
  get name() { return this.#name; }
  get code() { return { AbortError: 20, TimeoutError: 23, DataCloneError: 25, InvalidCharacterError: 5 }[this.#name] ?? 0; }
}
const Exception = globalThis.DOMException && Object.getOwnPropertyDescriptor(globalThis, 'DOMException').value || DOMException;

class Event {
  constructor(type, options = {}) { this.type = String(type); this.cancelable = !!options.cancelable; this.defaultPrevented = false; this.target = null; this.timeStamp = sys.now(); }
  preventDefault() { if (this.cancelable) this.defaultPrevented = true; }
  stopPropagation() {}
  stopImmediatePropagation() { this.stopped = true; }
}

class EventTarget {
  #list = [];
  addEventListener(type, call, options = {}) {
    if (!this.#list.some((it) => it.type === type && it.call === call)) this.#list.push({ type, call, once: !!options.once });
  }
  removeEventListener(type, call) { this.#list = this.#list.filter((it) => it.type !== type || it.call !== call); }
  dispatchEvent(event) {
    event.target = this;
    for (const it of this.#list.filter((it) => it.type === event.type)) {
      if (it.once) this.removeEventListener(it.type, it.call);
      if (typeof it.call === 'function') it.call.call(this, event); else it.call.handleEvent(event);
      if (event.stopped) break;
    }
    return !event.defaultPrevented;
  }
}

class AbortSignal extends EventTarget {
  constructor() { super(); this.aborted = false; this.reason = undefined; this.onabort = null; }
  throwIfAborted() { if (this.aborted) throw this.reason; }
  static make(signal, reason) {
    if (signal.aborted) return;
    signal.aborted = true;
    signal.reason = reason ?? new Exception('This operation was aborted', 'AbortError');
    const event = new Event('abort');
    if (signal.onabort) signal.onabort(event);
    signal.dispatchEvent(event);
  }
  static abort(reason) { const it = new AbortSignal(); AbortSignal.make(it, reason); return it; }
  static timeout(ms) { const it = new AbortSignal(); setTimeout(() => AbortSignal.make(it, new Exception('The operation was aborted due to timeout', 'TimeoutError')), ms).unref(); return it; }
  static any(signals) {
    const it = new AbortSignal();
    for (const signal of signals) { if (signal.aborted) AbortSignal.make(it, signal.reason); else signal.addEventListener('abort', () => AbortSignal.make(it, signal.reason)); }
    return it;
  }
}
class AbortController {
  constructor() { this.signal = new AbortSignal(); }
  abort(reason) { AbortSignal.make(this.signal, reason); }
}

function structuredClone(value) {
  const seen = new Map();
  const fail = (what) => { throw new Exception(`${what} could not be cloned.`, 'DataCloneError'); };
  const copy = (it) => {
    if (typeof it === 'symbol') fail(String(it));
    if (typeof it === 'function') fail(Function.prototype.toString.call(it));
    if (typeof it !== 'object' || it === null) return it;
    if (seen.has(it)) return seen.get(it);
    const keep = (made) => { seen.set(it, made); return made; };
    if (Array.isArray(it)) { const out = keep(new Array(it.length)); for (const key of Object.keys(it)) out[key] = copy(it[key]); return out; }
    if (it instanceof Date) return keep(new Date(it.getTime()));
    if (it instanceof RegExp) return keep(new RegExp(it.source, it.flags));
    if (it instanceof Map) { const out = keep(new Map()); for (const [k, v] of it) out.set(copy(k), copy(v)); return out; }
    if (it instanceof Set) { const out = keep(new Set()); for (const v of it) out.add(copy(v)); return out; }
    if (it instanceof ArrayBuffer) return keep(it.slice(0));
    if (ArrayBuffer.isView(it)) { const buffer = copy(it.buffer); return keep(it instanceof DataView ? new DataView(buffer, it.byteOffset, it.byteLength) : new (globalThis[Object.getOwnPropertyDescriptor(Object.getPrototypeOf(Uint8Array).prototype, Symbol.toStringTag).get.call(it)])(buffer, it.byteOffset, it.length)); }
    if (it instanceof Error) {
      const Type = { EvalError, RangeError, ReferenceError, SyntaxError, TypeError, URIError }[it.name] ?? Error;
      const out = keep(Object.create(Type.prototype));
      for (const key of ['stack', 'message', 'cause']) if (key in it) Object.defineProperty(out, key, { value: copy(it[key]), writable: true, configurable: true, enumerable: false });
      return out;
    }
    for (const Type of [Number, String, Boolean, BigInt]) if (it instanceof Type) return keep(Object(it.valueOf()));
    if (it instanceof Promise || it instanceof WeakMap || it instanceof WeakSet) fail(`#<${it.constructor.name}>`);
    const out = keep({});
    for (const key of Object.keys(it)) out[key] = copy(it[key]);
    return out;
  };
  if (arguments.length === 0) throw new TypeError("The \"value\" argument must be specified");
  return copy(value);
}

module.exports = { Event, EventTarget, AbortController, AbortSignal, structuredClone, DOMException: Exception, EventEmitter };
