cat > data.json <<'EOT'
[{"name": "ann", "age": 31}, {"name": "bob", "age": 25}]
EOT
cat > cli.ts <<'EOT'
#!/usr/bin/env node
import { readFileSync, writeFileSync } from 'fs';
import { parseArgs } from 'util';
type Person = { name: string; age: number };
const { values, positionals } = parseArgs({ args: process.argv.slice(2), options: { min: { type: 'string', short: 'm' } }, allowPositionals: true });
const people: Person[] = JSON.parse(readFileSync(positionals[0], 'utf8'));
const kept = people.filter(({ age }: Person) => age >= Number(values.min ?? 0));
writeFileSync('out.json', JSON.stringify(kept));
process.stdout.write(`${kept.length} kept\n`);
process.exitCode = kept.length === people.length ? 0 : 3;
EOT
node cli.ts data.json --min 30; echo $?; cat out.json
