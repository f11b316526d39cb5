// `stream`: readable, writable and both, with back pressure by callbacks.
const EventEmitter = require('events');
const { Buffer, encoding } = require('buffer');
const { StringDecoder } = require('string_decoder');
const { coded } = require('errors');
const { nextTick } = require('loop');

class Stream extends EventEmitter {
  _setUp(options) {
    if (this._set) return;
    Object.defineProperty(this, '_set', { value: true });
    this.destroyed = false;
    this.closed = false;
    this.errored = null;
    if (options.destroy) this._destroy = options.destroy;
  }
  destroy(error) {
    if (this.destroyed) return this;
    this.destroyed = true;
    this.errored = error ?? null;
    const after = (failed) => nextTick(() => {
      if (failed ?? error) this.emit('error', failed ?? error);
      this.closed = true;
      this.emit('close');
    });
    if (this._destroy) this._destroy(error ?? null, after); else after();
    return this;
  }
  pipe(target, options = {}) { return pipe(this, target, options); }
}

function pipe(source, target, options) {
  source.on('data', (chunk) => { if (target.write(chunk) === false) { source.pause(); target.once('drain', () => source.resume()); } });
  if (options.end !== false && target !== process.stdout && target !== process.stderr) source.on('end', () => target.end());
  target.emit('pipe', source);
  return target;
}

// What reads: a queue that `_read` fills and that flows out as 'data'.
const readable = {
  _readableSetUp(options) {
    this._setUp(options);
    this.readable = true;
    this.readableEnded = false;
    this.readableObjectMode = !!(options.objectMode || options.readableObjectMode);
    this.readableHighWaterMark = options.highWaterMark ?? (this.readableObjectMode ? 16 : 16384);
    this.readableFlowing = null;
    for (const key of ['_queue', '_reading', '_over', '_decoder', '_planned']) Object.defineProperty(this, key, { value: key === '_queue' ? [] : false, writable: true });
    if (options.read) this._read = options.read;
    if (options.encoding) this.setEncoding(options.encoding);
  },
  _read() { throw coded(Error, 'ERR_METHOD_NOT_IMPLEMENTED', 'The _read() method is not implemented'); },
  setEncoding(name) { this._decoder = new StringDecoder(encoding(name)); this.readableEncoding = encoding(name); return this; },
  push(chunk, name) {
    this._reading = false;
    if (chunk === null) {
      const rest = this._decoder ? this._decoder.end() : '';
      if (rest) this._queue.push(rest);
      this._over = true;
    } else {
      if (!this.readableObjectMode) {
        if (typeof chunk === 'string' && !(this._decoder && encoding(name) === this.readableEncoding)) chunk = Buffer.from(chunk, name);
        else if (!(chunk instanceof Buffer) && ArrayBuffer.isView(chunk)) chunk = Buffer.from(chunk);
        if (this._decoder && typeof chunk !== 'string') chunk = this._decoder.write(chunk);
      }
      if (this.readableObjectMode || chunk.length > 0) this._queue.push(chunk);
    }
    this._plan();
    return this._queue.length < 16;
  },
  unshift(chunk) { this._queue.unshift(chunk); },
  _plan() {
    if (this._planned) return;
    this._planned = true;
    nextTick(() => { this._planned = false; this._flow(); });
  },
  _fill() {
    if (this._reading || this._over || this.destroyed || this._queue.length > 0) return;
    this._reading = true;
    try { this._read(this.readableHighWaterMark); } catch (error) { this.destroy(error); }
  },
  _flow() {
    if (this.destroyed) return;
    if (this.listenerCount('readable') > 0) {
      this._fill();
      if (this._queue.length > 0 || (this._over && !this.readableEnded)) this.emit('readable');
    }
    while (this.readableFlowing && this._queue.length > 0 && !this.destroyed) this.emit('data', this._queue.shift());
    if (this._queue.length === 0 && this._over) {
      if (!this.readableEnded && (this.readableFlowing || this._asked)) {
        this.readableEnded = true;
        this.readable = false;
        this.emit('end');
        if (this.writableFinished !== false) this.destroy();
      }
    } else if (this.readableFlowing) this._fill();
  },
  read(size) {
    this._asked = true;
    if (this._queue.length === 0) this._fill();
    if (this._queue.length === 0) { if (this._over) this._plan(); return null; }
    if (this.readableObjectMode) return this._queue.shift();
    const all = typeof this._queue[0] === 'string' ? this._queue.join('') : Buffer.concat(this._queue);
    this._queue.length = 0;
    if (size === undefined || size >= all.length) { this._plan(); return all; }
    this._queue.push(all.slice(size));
    return all.slice(0, size);
  },
  on(name, listener) {
    EventEmitter.prototype.on.call(this, name, listener);
    if (name === 'data' && this.readableFlowing !== false) this.resume();
    if (name === 'readable') this._plan();
    return this;
  },
  resume() { this.readableFlowing = true; this._plan(); return this; },
  pause() { this.readableFlowing = false; return this; },
  isPaused() { return this.readableFlowing === false; },
  unpipe() { this.removeAllListeners('data'); return this; },
  async *[Symbol.asyncIterator]() {
    const waiting = [];
    let over = false, failed = null, wake = null;
    const poke = () => { if (wake) { wake(); wake = null; } };
    this.on('end', () => { over = true; poke(); });
    this.on('error', (error) => { failed = error; poke(); });
    this.on('close', () => { over = true; poke(); });
    this.on('data', (chunk) => { waiting.push(chunk); this.pause(); poke(); });
    try {
      for (;;) {
        if (waiting.length > 0) { yield waiting.shift(); continue; }
        if (failed) throw failed;
        if (over) return;
        this.resume();
        await new Promise((resolve) => { wake = resolve; if (waiting.length > 0 || over || failed) poke(); });
      }
    } finally { this.destroy(); }
  },
  async toArray() { const out = []; for await (const item of this) out.push(item); return out; },
  map(call) { const source = this; return Readable.from((async function* () { for await (const item of source) yield call(item); })()); },
  filter(call) { const source = this; return Readable.from((async function* () { for await (const item of source) if (await call(item)) yield item; })()); },
  async forEach(call) { for await (const item of this) await call(item); },
};

// What writes: one chunk after another goes to `_write`.
const writable = {
  _writableSetUp(options) {
    this._setUp(options);
    this.writable = true;
    this.writableEnded = false;
    this.writableFinished = false;
    this.writableObjectMode = !!(options.objectMode || options.writableObjectMode);
    this.writableHighWaterMark = options.highWaterMark ?? (this.writableObjectMode ? 16 : 16384);
    for (const [key, value] of [['_waiting', []], ['_writing', false], ['_full', false], ['_strings', options.decodeStrings === false], ['_inEncoding', options.defaultEncoding]]) {
      Object.defineProperty(this, key, { value, writable: true });
    }
    for (const name of ['write', 'writev', 'final']) if (options[name]) this[`_${name}`] = options[name];
  },
  _write(_chunk, _name, done) { done(coded(Error, 'ERR_METHOD_NOT_IMPLEMENTED', 'The _write() method is not implemented')); },
  write(chunk, name, done) {
    if (typeof name === 'function') { done = name; name = undefined; }
    if (this.writableEnded || this.destroyed) {
      const error = this.writableEnded ? coded(Error, 'ERR_STREAM_WRITE_AFTER_END', 'write after end') : coded(Error, 'ERR_STREAM_DESTROYED', 'Cannot call write after a stream was destroyed');
      nextTick(() => { if (done) done(error); this.destroy(error); });
      return false;
    }
    if (!this.writableObjectMode) {
      if (typeof chunk === 'string') { if (!this._strings) { chunk = Buffer.from(chunk, name ?? this._inEncoding); name = 'buffer'; } }
      else if (ArrayBuffer.isView(chunk)) { if (!(chunk instanceof Buffer)) chunk = Buffer.from(chunk); name = 'buffer'; }
      else throw require('errors').argType('chunk', 'of type string or an instance of Buffer, TypedArray, or DataView', chunk);
    }
    this._waiting.push([chunk, name ?? 'utf8', done]);
    this._drain();
    const room = this._waiting.length < 16;
    if (!room) this._full = true;
    return room;
  },
  _drain() {
    if (this._writing || this.destroyed) return;
    const next = this._waiting.shift();
    if (next === undefined) {
      if (this._full) { this._full = false; nextTick(() => this.emit('drain')); }
      if (this.writableEnded && !this.writableFinished && !this._finishing) this._finish();
      return;
    }
    this._writing = true;
    let now = true;
    const after = (error) => {
      this._writing = false;
      if (error) { if (next[2]) next[2](error); this.destroy(error); return; }
      if (next[2]) nextTick(next[2], null);
      if (now) nextTick(() => this._drain()); else this._drain();
    };
    try { this._write(next[0], next[1], after); } catch (error) { after(error); }
    now = false;
  },
  _finish() {
    this._finishing = true;
    const after = (error) => {
      if (error) { this.destroy(error); return; }
      this.writableFinished = true;
      this.writable = false;
      nextTick(() => { this.emit('finish'); if (this.readableEnded !== false) this.destroy(); });
    };
    nextTick(() => { if (this._final) this._final(after); else after(); });
  },
  end(chunk, name, done) {
    if (typeof chunk === 'function') { done = chunk; chunk = undefined; }
    if (typeof name === 'function') { done = name; name = undefined; }
    if (chunk !== undefined && chunk !== null) this.write(chunk, name);
    if (done) this.once('finish', done);
    this.writableEnded = true;
    this._drain();
    return this;
  },
  cork() {}, uncork() {},
  setDefaultEncoding(name) { this._inEncoding = name; return this; },
};

const descriptors = (...sources) => Object.fromEntries(sources.flatMap((it) => Reflect.ownKeys(it).map((key) => [key, { ...Object.getOwnPropertyDescriptor(it, key), enumerable: false }])).map(([key, value]) => [key, value]));
function mix(Class, ...sources) {
  for (const source of sources) for (const key of Reflect.ownKeys(source)) Object.defineProperty(Class.prototype, key, { ...Object.getOwnPropertyDescriptor(source, key), enumerable: false });
}

class Readable extends Stream {
  constructor(options = {}) { super(); this._readableSetUp(options); }
  static from(items, options) {
    const it = typeof items === 'string' || items instanceof Buffer ? [items][Symbol.iterator]() : items[Symbol.asyncIterator] ? items[Symbol.asyncIterator]() : items[Symbol.iterator]();
    return new Readable({
      objectMode: true, ...options,
      read() {
        Promise.resolve(it.next()).then(async ({ value, done }) => this.push(done ? null : await value)).catch((error) => this.destroy(error));
      },
    });
  }
}
mix(Readable, readable);

class Writable extends Stream {
  constructor(options = {}) { super(); this._writableSetUp(options); }
}
mix(Writable, writable);

class Duplex extends Stream {
  constructor(options = {}) { super(); this._readableSetUp(options); this._writableSetUp(options); }
}
mix(Duplex, readable, writable);

class Transform extends Duplex {
  constructor(options = {}) {
    super({ ...options, read: undefined, write: undefined });
    if (options.transform) this._transform = options.transform;
    if (options.flush) this._flush = options.flush;
  }
  _read() { const go = this._held; this._held = null; if (go) go(); }
  _write(chunk, name, done) {
    this._transform(chunk, name, (error, out) => {
      if (error) { done(error); return; }
      if (out !== undefined && out !== null) this.push(out);
      if (this._queue.length < 16) done(); else this._held = done;
    });
  }
  _final(done) {
    const after = (error, out) => {
      if (error) { done(error); return; }
      if (out !== undefined && out !== null) this.push(out);
      this.push(null);
      done();
    };
    if (this._flush) this._flush(after); else after();
  }
  _flow() { readable._flow.call(this); if (this._held && this._queue.length < 16) this._read(); }
}
class PassThrough extends Transform { _transform(chunk, _name, done) { done(null, chunk); } }

function finished(stream, options, done = options) {
  let over = false;
  const end = (error) => { if (!over) { over = true; done.call(stream, error); } };
  stream.on('error', end);
  stream.on('finish', () => { if (stream.readable === undefined || stream.readableEnded) end(); });
  stream.on('end', () => { if (stream.writable === undefined || stream.writableFinished) end(); });
  stream.on('close', () => end(stream.errored ?? undefined));
}

function pipeline(...streams) {
  const done = typeof streams[streams.length - 1] === 'function' && streams.length > 2 ? streams.pop() : () => {};
  streams = streams.flat();
  let over = false;
  const end = (error) => {
    if (over) return;
    over = true;
    if (error) for (const stream of streams) if (stream.destroy) stream.destroy();
    done(error ?? undefined);
  };
  const made = [];
  for (const [i, step] of streams.entries()) {
    if (typeof step === 'function') made.push(i === streams.length - 1 && !/Generator/.test(Object.prototype.toString.call(step)) ? { sink: step(made[i - 1]) } : Readable.from(step(made[i - 1])));
    else made.push(i === 0 && !(step instanceof Stream) ? Readable.from(step) : step);
    const it = made[i];
    if (it.sink) { it.sink.then(() => end(), end); continue; }
    it.on('error', end);
    if (i > 0 && typeof step !== 'function') made[i - 1].pipe(it);
  }
  const last = made[made.length - 1];
  if (last.on) {
    if (last === process.stdout || last === process.stderr) made[made.length - 2].on('end', () => end());
    else { last.on('finish', () => end()); if (!last.write) last.on('end', () => end()); }
  }
  return last;
}

const promises = {
  pipeline: (...streams) => new Promise((resolve, reject) => pipeline(...streams, (error) => error ? reject(error) : resolve())),
  finished: (stream) => new Promise((resolve, reject) => finished(stream, (error) => error ? reject(error) : resolve())),
};
Object.assign(Stream, { Stream, Readable, Writable, Duplex, Transform, PassThrough, pipeline, finished, promises });
module.exports = Stream;
