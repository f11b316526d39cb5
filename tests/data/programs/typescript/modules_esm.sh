mkdir -p lib
echo '{"type": "module"}' > package.json
cat > lib/shape.ts <<'EOT'
export interface Shape { area(): number }
export type Kind = 'circle' | 'square';
export class Square implements Shape {
  side: number;
  constructor(side: number) { this.side = side; }
  area(): number { return this.side ** 2; }
}
export default function name(kind: Kind): string { return kind.toUpperCase(); }
EOT
cat > lib/index.ts <<'EOT'
export type { Shape, Kind } from './shape.ts';
export { Square, default as name } from './shape.ts';
export * as all from './shape.ts';
EOT
cat > main.ts <<'EOT'
import { readFileSync } from 'node:fs';
import type { Shape } from './lib/index.ts';
import { type Kind, Square, all, name } from './lib/index.ts';
const kind: Kind = 'square';
const shape: Shape = new Square(4);
console.log(name(kind), shape.area(), Object.keys(all).sort());
const { Square: again } = await import('./lib/shape.ts');
console.log(again === Square, readFileSync('package.json', 'utf8').trim());
console.log(import.meta.filename.endsWith('/main.ts'));
EOT
node main.ts
