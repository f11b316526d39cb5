cat > deep.ts <<'EOT'
interface Options {
  name: string;
  depth?: number;
}

type Handler<T> =
  | ((value: T) => void)
  | null;

function run(options: Options, handler: Handler<string>): void {
  const wanted: number = options.depth ?? 1;
  if (wanted > 0) throw new Error(`at depth ${wanted}`);
  handler?.(options.name);
}

try {
  run({ name: 'n' }, null);
} catch (error: unknown) {
  const [first] = (error as Error).stack!.split('\n').filter((line: string) => line.includes('deep.ts'));
  console.log((error as Error).message, first.match(/deep\.ts:(\d+):\d+/)![1]);
}
EOT
node deep.ts
