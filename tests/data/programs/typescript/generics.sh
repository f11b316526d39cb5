cat > g.ts <<'EOT'
class Stack<T> implements Iterable<T> {
  private items: T[] = [];
  declare never: string;
  static readonly empty: Stack<never> | null = null;
  push(...more: T[]): this { this.items.push(...more); return this; }
  pop(): T | undefined { return this.items.pop(); }
  get size(): number { return this.items.length; }
  *[Symbol.iterator](): Generator<T, void, undefined> { yield* this.items; }
}
const pairs = new Map<string, Stack<number>>([['a', new Stack<number>().push(1, 2, 3)]]);
const id = <A, B = A>(a: A, b?: B): [A, B | undefined] => [a, b];
console.log([...pairs.get('a')!], pairs.get('a')?.pop(), pairs.get('a')!.size);
console.log(id<string, number>('x', 2), id(true), Stack.empty);
console.log('never' in new Stack<string>());
EOT
node g.ts
