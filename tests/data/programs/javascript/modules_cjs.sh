mkdir -p lib node_modules/pkg/src node_modules/@s/p node_modules/plain
echo "exports.add = (a, b) => a + b; exports.loaded = require('./b').name; console.log('lib a', module.children.length, require.main === module)" > lib/a.js
echo "exports.name = 'b'; exports.from = require('./a').add;" > lib/b.js
echo "module.exports = class Index {}" > lib/index.js
echo '{"name":"pkg","main":"src/main"}' > node_modules/pkg/package.json; echo "module.exports = 'pkg main'" > node_modules/pkg/src/main.js
echo '{"name":"@s/p","exports":{".":{"import":"./i.mjs","require":"./r.cjs"},"./sub/*":"./x/*.js"}}' > node_modules/@s/p/package.json; echo "module.exports='cjs side'" > node_modules/@s/p/r.cjs; echo "export default 'esm side'; export const k = 1" > node_modules/@s/p/i.mjs; mkdir node_modules/@s/p/x; echo "module.exports='sub one'" > node_modules/@s/p/x/one.js
echo "module.exports='plain index'" > node_modules/plain/index.js
cat > a.js <<'JS'
const { add, loaded } = require('./lib/a');
console.log(add(1, 2), loaded, require('./lib'), require('pkg'), require('@s/p'), require('@s/p/sub/one'), require('plain'), require('./lib/a') === require('./lib/a.js'));
console.log(require.main === module, module.id, typeof __filename, __dirname === process.cwd(), require.resolve('./lib/a.js') === require('path').join(__dirname, 'lib/a.js'));
import('@s/p').then((m) => console.log(m.default, m.k, Object.keys(m)));
try { require('./nope'); } catch (e) { console.log(e.code, e.message.split('\n')[0]); }
try { require('nopkg'); } catch (e) { console.log(e.code, e.message.split('\n')[0]); }
try { require('@s/p/hidden'); } catch (e) { console.log(e.code); }
console.log(typeof require('node:fs').readFileSync, require('module').builtinModules.includes('fs'), this === module.exports, arguments.length);
JS
node a.js
