cat > o.ts <<'EOT'
function parse(text: string): number;
function parse(text: string[], each?: boolean): number[];
function parse(this: void, text: string | string[], each: boolean = true): number | number[] {
  return Array.isArray(text) ? text.map((one) => Number(one)) : Number(text);
}
abstract class Base {
  abstract name(): string;
  protected abstract readonly size: number;
  describe(): string { return `${this.name()} of ${this.size}`; }
}
class Box extends Base {
  protected override readonly size = 3;
  public override name(): string { return 'box'; }
}
declare const missing: unknown;
declare function nowhere(): void;
declare global { interface Array<T> { last(): T } }
console.log(parse('4'), parse(['1', '2']), new Box().describe(), typeof missing);
export {};
EOT
node o.ts
