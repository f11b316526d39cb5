// What is to be done later: ticks, microtasks, timers, finished calls, immediates.

const ticks = [], done = [], immediates = [], timers = [];
let counter = 0, refs = 0;

// Calls `call` in a later turn, before immediates: where Node tells of finished input and output.
const later = (call) => { done.push(call); };

class Timeout {
  constructor(call, delay, args, repeat) {
    delay = Number(delay);
    if (!(delay >= 1 && delay <= 2 ** 31 - 1)) delay = 1;
    else delay = Math.trunc(delay);
    Object.assign(this, { _idleTimeout: delay, _onTimeout: call, _repeat: repeat ? delay : null });
    for (const [key, value] of Object.entries({ args, due: sys.now() + delay, order: counter++, id: counter, live: true, held: true })) {
      Object.defineProperty(this, key, { value, writable: true });
    }
    insert(this);
  }
  ref() { this.held = true; return this; }
  unref() { this.held = false; return this; }
  hasRef() { return this.held; }
  refresh() { remove(this); this.due = sys.now() + this._idleTimeout; this.order = counter++; this.live = true; insert(this); return this; }
  close() { clear(this); return this; }
  [Symbol.toPrimitive]() { return this.id; }
}

function insert(timer) {
  let low = 0, high = timers.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (timers[middle].due <= timer.due) low = middle + 1; else high = middle;
  }
  timers.splice(low, 0, timer);
}

function remove(timer) {
  const at = timers.indexOf(timer);
  if (at !== -1) timers.splice(at, 1);
}

function clear(timer) {
  if (timer === undefined || timer === null) return;
  if (timer instanceof Immediate) { timer.live = false; return; }
  if (!(timer instanceof Timeout)) timer = timers.find((it) => it.id === Number(timer));
  if (timer) { timer.live = false; timer._onTimeout = null; remove(timer); }
}

class Immediate {
  constructor(call, args) {
    this._onImmediate = call;
    Object.defineProperty(this, 'args', { value: args });
    Object.defineProperty(this, 'live', { value: true, writable: true });
    immediates.push(this);
  }
  ref() { return this; }
  unref() { return this; }
  hasRef() { return true; }
}

function callback(call) {
  if (typeof call !== 'function') throw require('errors').argType('callback', 'of type function', call);
  return call;
}

const setTimeout = (call, delay, ...args) => new Timeout(callback(call), delay, args, false);
const setInterval = (call, delay, ...args) => new Timeout(callback(call), delay, args, true);
const setImmediate = (call, ...args) => new Immediate(callback(call), args);
const nextTick = (call, ...args) => { ticks.push([callback(call), args]); };

// Ticks that were put off. Whether there were any.
function runTicks() {
  let any = false;
  while (ticks.length > 0) {
    const [call, args] = ticks.shift();
    any = true;
    call(...args);
  }
  return any;
}

let batch = [], looking = false;

// One thing that is due. Milliseconds to wait for the next one: 0 when something was done,
// below 0 when nothing is left.
function advance() {
  // Immediates of one round run together; those that they make wait for the next.
  while (batch.length > 0) {
    const it = batch.shift();
    if (!it.live) continue;
    it._onImmediate(...it.args);
    return 0;
  }
  if (!looking) {
    // A timer of 1 ms is due in the next round, as the clock of Node is coarser than its rounds.
    const now = sys.now() + 1;
    if (timers.length > 0 && timers[0].due <= now) {
      const timer = timers.shift();
      const call = timer._onTimeout;
      if (timer._repeat === null) timer.live = false;
      try { call(...timer.args); } finally {
        if (timer._repeat !== null && timer.live) { timer.due = sys.now() + timer._repeat; timer.order = counter++; insert(timer); }
      }
      return 0;
    }
    looking = true;
  }
  if (done.length > 0) { done.shift()(); return 0; }
  looking = false;
  if (immediates.length > 0) { batch = immediates.splice(0); return 0; }
  if (refs === 0 && !timers.some((timer) => timer.held)) return -1;
  return timers.length > 0 ? Math.max(0.5, timers[0].due - sys.now()) : -1;
}

const wait = (set) => (delay, value) => new Promise((resolve) => set(() => resolve(value), delay));
const promises = {
  setTimeout: wait(setTimeout),
  setImmediate: (value) => new Promise((resolve) => setImmediate(resolve, value)),
  async *setInterval(delay, value) { for (;;) { await promises.setTimeout(delay); yield value; } },
};
promises.scheduler = { wait: promises.setTimeout };
const custom = Symbol.for('nodejs.util.promisify.custom');
setTimeout[custom] = promises.setTimeout;
setImmediate[custom] = promises.setImmediate;

module.exports = { later, nextTick, runTicks, advance, timers: { setTimeout, setInterval, setImmediate, clearTimeout: clear, clearInterval: clear, clearImmediate: clear, promises } };
