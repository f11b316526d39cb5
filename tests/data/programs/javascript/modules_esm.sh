mkdir lib; echo '{"type":"module"}' > package.json
echo "export let n = 0; export const inc = () => ++n; export default function hello() { return 'hi' }; export class K {}" > lib/m.js
echo "import { inc } from './m.js'; export * from './m.js'; export { default as greet } from './m.js'; inc();" > lib/index.js
echo "exports.one = 1; exports.f = () => 'f'; module.exports.two = 2;" > lib/c.cjs
echo '{"v": 5}' > lib/d.json
cat > main.js <<'JS'
import hello, * as m from './lib/m.js';
import { greet, n, inc, K } from './lib/index.js';
import cjs, { one, f } from './lib/c.cjs';
import d from './lib/d.json' with { type: 'json' };
import path from 'path'; import { createRequire } from 'module'; import { fileURLToPath } from 'url';
console.log(hello(), n, inc(), n, m.n, greet === hello, one, f(), cjs.two, d, K);
console.log(m, typeof import.meta.url, path.basename(fileURLToPath(import.meta.url)), path.basename(import.meta.filename), import.meta.dirname === process.cwd());
console.log(createRequire(import.meta.url)('./lib/c.cjs') === cjs, (await import('./lib/m.js')).n, typeof require, typeof module, this);
try { await import('./nope.js'); } catch (e) { console.log(e.code); }
try { await import('nopkg'); } catch (e) { console.log(e.code, e.message.split(' imported')[0]); }
export {};
JS
node main.js
