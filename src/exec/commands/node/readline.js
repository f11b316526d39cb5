// `readline`: lines of a stream. There is no terminal.
const EventEmitter = require('events');

class Interface extends EventEmitter {
  constructor(input, output) {
    super();
    const options = input && input.input ? input : { input, output };
    this.input = options.input;
    this.output = options.output;
    this.closed = false;
    this.terminal = false;
    this.prompting = options.prompt ?? '> ';
    let rest = '';
    const questions = [];
    const lines = [];
    this.ask = (call) => { if (lines.length > 0) call(lines.shift()); else if (this.ended) this.close(); else { questions.push(call); this.input.resume(); } };
    const line = (text) => {
      const asked = questions.shift();
      if (asked) asked(text);
      else if (this.listenerCount('line') > 0 || !this.kept) this.emit('line', text);
      else lines.push(text);
    };
    this.input.setEncoding?.('utf8');
    this.input.on('data', (chunk) => {
      const parts = (rest + chunk).split(/\r\n|\n|\r(?!$)/);
      rest = parts.pop();
      for (const part of parts) line(part);
    });
    this.input.on('end', () => {
      if (rest !== '') line(rest.replace(/\r$/, ''));
      this.ended = true;
      if (lines.length === 0) this.close();
    });
    this.input.on('error', (error) => { if (this.listenerCount('error') > 0) this.emit('error', error); });
  }
  close() { if (this.closed) return; this.closed = true; this.input.pause?.(); this.emit('close'); }
  pause() { this.input.pause(); this.emit('pause'); return this; }
  resume() { this.input.resume(); this.emit('resume'); return this; }
  setPrompt(text) { this.prompting = text; }
  getPrompt() { return this.prompting; }
  prompt() { this.output?.write(this.prompting); this.kept = false; }
  question(text, options, done = options) { this.kept = true; this.output?.write(text); this.ask(done); }
  write() {}
  async *[Symbol.asyncIterator]() {
    const waiting = [];
    let over = this.closed, wake = null;
    const poke = () => { if (wake) { wake(); wake = null; } };
    this.on('line', (text) => { waiting.push(text); poke(); });
    this.on('close', () => { over = true; poke(); });
    for (;;) {
      if (waiting.length > 0) { yield waiting.shift(); continue; }
      if (over) return;
      await new Promise((resolve) => { wake = resolve; });
    }
  }
}

class Promised extends Interface {
  question(text) { return new Promise((resolve) => super.question(text, resolve)); }
}

const createInterface = (input, output) => new Interface(input, output);
module.exports = {
  Interface, createInterface, clearLine: () => true, cursorTo: () => true, moveCursor: () => true, clearScreenDown: () => true, emitKeypressEvents() {},
  promises: { Interface: Promised, createInterface: (input, output) => new Promised(input, output) },
};
