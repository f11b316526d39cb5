printf 'the cat\nthe dog the end\n' > in.txt
cat > wc.ts <<'EOT'
import * as fs from 'node:fs';
import * as readline from 'node:readline';
const counts: Map<string, number> = new Map();
async function read(file: string): Promise<void> {
  const lines = readline.createInterface({ input: fs.createReadStream(file) });
  for await (const line of lines as AsyncIterable<string>) for (const word of line.split(/\s+/)) counts.set(word, (counts.get(word) ?? 0) + 1);
}
await read(process.argv[2] as string);
const sorted: [string, number][] = [...counts].sort(([a, x], [b, y]) => y - x || a.localeCompare(b));
for (const [word, n] of sorted) console.log(`${n}\t${word}`);
EOT
node wc.ts in.txt
