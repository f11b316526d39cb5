cat > s.ts <<'EOT'
const a = 1 as number
;[2, 3].forEach((n: number): void => { console.log(n + a) })
type T = string
;(function (this: void) { console.log('run') })()
let b: number
interface I { x: 1 }
[b] = [5] as [number]
console.log(b)
const f = (
  x: number,
): number =>
  x * 2
console.log(f(4) as unknown as number)
class C {
  x?: number
  ['y']: string = 'computed'
  static z = 1 as const
  declare w: string
  *gen(): Generator<number> { yield 1 }
}
console.log(Object.keys(new C()), C.z, [...new C().gen()])
const g = async <T,>(t: T): Promise<T> => t
g<string>('later').then((v: string) => console.log(v!))
label: for (const q of [1, 2] as number[]) { if (q as any > 1) break label; console.log(q) }
EOT
node s.ts
