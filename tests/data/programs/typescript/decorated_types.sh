cat > m.ts <<'EOT'
type Mapped<T> = { readonly [K in keyof T as `get${Capitalize<string & K>}`]-?: () => T[K] };
type Deep<T> = T extends (infer U)[] ? Deep<U> : T extends object ? { [K in keyof T]: Deep<T[K]> } : T;
type Fn = new (...args: any[]) => abstract new () => void;
type Tpl = `${'a' | 'b'}-${number}`;
let unique: unique symbol;
const make = <T extends object>(o: T): Mapped<T> =>
  Object.fromEntries(Object.entries(o).map(([k, v]) => [`get${k[0].toUpperCase()}${k.slice(1)}`, () => v])) as Mapped<T>;
const made = make({ name: 'n', size: 4 });
console.log(made.getName(), made.getSize());
const big: bigint = 10n ** 20n, re: RegExp = /<T>(x)/g;
console.log(big < 5n, 'a<T>(x)'.replace(re, ''), (1 < 2) as boolean, ((x: number) => x)(3));
const o = { m<T>(this: { v: number }, x: T): [number, T] { return [this.v, x] }, v: 1, get p(): number { return 2 }, set p(x: number) {} };
console.log(o.m<string>('q'), o.p, (o as any).nothing?.deep!);
namespace OnlyTypes { export type X = number; export interface Y { x: X } }
const y: OnlyTypes.Y = { x: 9 };
console.log(y);
EOT
node m.ts
