cat > calc.ts <<'EOT'
export type Token = { kind: 'num'; value: number } | { kind: 'op'; value: '+' | '*' };
export function tokens(text: string): Token[] {
  return text.split(' ').map((t): Token => /^\d+$/.test(t) ? { kind: 'num', value: +t } : { kind: 'op', value: t as '+' | '*' });
}
export const evaluate = (list: readonly Token[]): number => {
  const stack: number[] = [];
  for (const t of list) {
    if (t.kind === 'num') stack.push(t.value);
    else { const b = stack.pop()!, a = stack.pop()!; stack.push(t.value === '+' ? a + b : a * b); }
  }
  return stack[0]!;
};
EOT
cat > calc.test.ts <<'EOT'
import assert from 'node:assert/strict';
import { evaluate, tokens, type Token } from './calc.ts';
const cases: ReadonlyArray<[string, number]> = [['1 2 +', 3], ['2 3 4 * +', 14]];
for (const [text, wanted] of cases) assert.equal(evaluate(tokens(text)), wanted);
const one: Token = { kind: 'num', value: 1 };
assert.deepEqual(tokens('1'), [one]);
assert.throws((): void => { throw new RangeError('x'); }, RangeError);
console.log('ok', cases.length);
EOT
echo '{"type":"module"}' > package.json
node calc.test.ts
