cat > u.ts <<'EOT'
type Result<T, E = Error> = { ok: true; value: T } | { ok: false; error: E };
const isOk = <T,>(r: Result<T>): r is { ok: true; value: T } => r.ok;
function assertText(value: unknown): asserts value is string {
  if (typeof value !== 'string') throw new TypeError(`no text: ${typeof value}`);
}
const tried = (f: () => number): Result<number> => {
  try { return { ok: true, value: f() }; } catch (error) { return { ok: false, error: error as Error }; }
};
for (const r of [tried(() => 42), tried(() => { throw new Error('bad'); })]) {
  console.log(isOk(r) ? r.value : r.error.message);
}
try { assertText(7); } catch (e) { console.log((e as TypeError).message); }
const keys = ['a', 'b'] as const;
type Key = (typeof keys)[number];
const record: Record<Key, number> = { a: 1, b: 2 };
console.log(keys.map((k: Key) => record[k]));
EOT
node u.ts
