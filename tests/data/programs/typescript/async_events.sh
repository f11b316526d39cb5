cat > e.mts <<'EOT'
import { EventEmitter } from 'node:events';
import { setTimeout as wait } from 'node:timers/promises';
interface Events { tick: [count: number]; done: [] }
class Clock extends EventEmitter {
  #count = 0;
  override emit<K extends keyof Events>(name: K, ...args: Events[K]): boolean { return super.emit(name as string, ...args); }
  async run(times: number): Promise<number> {
    while (this.#count < times) { await wait(1); this.emit('tick', ++this.#count); }
    this.emit('done');
    return this.#count;
  }
}
const clock = new Clock();
clock.on('tick', (n: number) => console.log('tick', n));
clock.once('done', (): void => console.log('done'));
const results: PromiseSettledResult<number>[] = await Promise.allSettled([clock.run(3), Promise.reject<number>(new Error('no'))]);
console.log(results.map((r) => r.status));
EOT
node e.mts
