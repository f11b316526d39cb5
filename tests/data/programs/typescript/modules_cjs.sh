cat > math.cts <<'EOT'
type Op = (a: number, b: number) => number;
const add: Op = (a, b) => a + b;
module.exports = { add, twice: (f: Op) => (x: number): number => f(x, x) };
EOT
cat > main.ts <<'EOT'
const { add, twice } = require('./math.cts') as { add: (a: number, b: number) => number; twice: Function };
console.log(add(2, 3), twice(add)(21), __filename.endsWith('main.ts'), require.main === module);
EOT
cat > top.mts <<'EOT'
import math from './math.cts';
const n: number = await Promise.resolve(math.add(1, 1));
console.log(n, typeof require);
EOT
node main.ts; node top.mts
