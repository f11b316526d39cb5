// `events`.
const { coded, argType } = require('errors');

class EventEmitter {
  constructor() { EventEmitter.init.call(this); }
  static init() {
    if (!this._events || this._events === Object.getPrototypeOf(this)._events) {
      hide(this, '_events', Object.create(null));
    }
  }
  _list(name) { if (!this._events) EventEmitter.init.call(this); return this._events[name]; }
  _add(name, listener, first) {
    if (typeof listener !== 'function') throw argType('listener', 'of type function', listener);
    if (this._list('newListener')) this.emit('newListener', name, listener.listener ?? listener);
    const list = this._list(name) ?? (this._events[name] = []);
    if (first) list.unshift(listener); else list.push(listener);
    return this;
  }
  on(name, listener) { return this._add(name, listener, false); }
  addListener(name, listener) { return this.on(name, listener); }
  prependListener(name, listener) { return this._add(name, listener, true); }
  once(name, listener) { return this.on(name, once(this, name, listener)); }
  prependOnceListener(name, listener) { return this.prependListener(name, once(this, name, listener)); }
  off(name, listener) {
    const list = this._list(name);
    if (!list) return this;
    const at = list.findLastIndex((item) => item === listener || item.listener === listener);
    if (at === -1) return this;
    if (list.length === 1) delete this._events[name];
    else this._events[name] = list.filter((_, i) => i !== at);
    if (this._events.removeListener) this.emit('removeListener', name, listener);
    return this;
  }
  removeListener(name, listener) { return this.off(name, listener); }
  removeAllListeners(name) {
    this._list('');
    if (name === undefined) this._events = Object.create(null);
    else delete this._events[name];
    return this;
  }
  emit(name, ...args) {
    const list = this._list(name);
    if (!list || list.length === 0) {
      if (name !== 'error') return false;
      if (args[0] instanceof Error) throw args[0];
      const error = coded(Error, 'ERR_UNHANDLED_ERROR', `Unhandled error. (${require('inspect').inspect(args[0])})`);
      error.context = args[0];
      throw error;
    }
    for (const listener of [...list]) listener.apply(this, args);
    return true;
  }
  listenerCount(name) { return this._list(name)?.length ?? 0; }
  listeners(name) { return (this._list(name) ?? []).map((item) => item.listener ?? item); }
  rawListeners(name) { return [...(this._list(name) ?? [])]; }
  eventNames() { this._list(''); return Reflect.ownKeys(this._events); }
  setMaxListeners() { return this; }
  getMaxListeners() { return 10; }
  static once(emitter, name) {
    return new Promise((resolve, reject) => {
      const fail = (error) => { emitter.off(name, done); reject(error); };
      const done = (...args) => { emitter.off('error', fail); resolve(args); };
      emitter.once(name, done);
      if (name !== 'error') emitter.once('error', fail);
    });
  }
  static listenerCount(emitter, name) { return emitter.listenerCount(name); }
}

function hide(object, key, value) {
  Object.defineProperty(object, key, { value, writable: true, configurable: true, enumerable: false });
}

function once(emitter, name, listener) {
  if (typeof listener !== 'function') throw argType('listener', 'of type function', listener);
  const wrapped = function (...args) {
    emitter.off(name, wrapped);
    return listener.apply(this, args);
  };
  wrapped.listener = listener;
  return wrapped;
}

// Classes of before ES6 call it as a function.
function Callable(...args) {
  if (new.target) return Reflect.construct(EventEmitter, args, new.target);
  EventEmitter.init.call(this);
}
Callable.prototype = EventEmitter.prototype;
Object.defineProperty(Callable.prototype, 'constructor', { value: Callable, writable: true, configurable: true });
for (const key of ['once', 'listenerCount', 'init']) Callable[key] = EventEmitter[key];
Object.defineProperty(Callable, 'name', { value: 'EventEmitter' });
Callable.EventEmitter = Callable;
Callable.defaultMaxListeners = 10;
module.exports = Callable;
