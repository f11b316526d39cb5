cat > a.js <<'JS'
const EventEmitter = require('events'); const { once } = EventEmitter;
class Bus extends EventEmitter {}
const b = new Bus();
b.on('x', (...a) => console.log('x', a)); b.once('x', () => console.log('once')); b.prependListener('x', () => console.log('first'));
console.log(b.emit('x', 1, 2), b.emit('x'), b.emit('none'), b.listenerCount('x'), b.eventNames());
const f = () => console.log('f'); b.on('y', f); b.off('y', f); b.emit('y');
try { b.emit('error', new Error('boom')); } catch (e) { console.log('thrown', e.message); }
b.on('error', (e) => console.log('handled', e.message)); b.emit('error', new Error('again'));
once(b, 'later').then(([v]) => console.log('once promise', v)); setTimeout(() => b.emit('later', 42), 1);
b.removeAllListeners('x'); console.log(b.listenerCount('x'), new EventEmitter() instanceof EventEmitter);
const t = new EventTarget(); t.addEventListener('e', (ev) => console.log(ev.type)); t.dispatchEvent(new Event('e'));
const ac = new AbortController(); ac.signal.addEventListener('abort', () => console.log('aborted', ac.signal.aborted)); ac.abort();
JS
node a.js
