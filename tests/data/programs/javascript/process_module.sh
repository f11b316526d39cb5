cat > a.js <<'JS'
console.log(process.argv.slice(2), process.env.HELLO, process.env.NOPE, 'HELLO' in process.env, process.platform, typeof process.pid, process.version.split('.')[0], require('path').basename(process.argv[1]));
process.env.NEW = 'v'; console.log(process.env.NEW); delete process.env.NEW; console.log(process.env.NEW);
const before = process.cwd(); require('fs').mkdirSync('sub'); process.chdir('sub'); console.log(process.cwd() === before + '/sub'); require('fs').writeFileSync('f', 'in sub'); process.chdir('..'); console.log(require('fs').readFileSync('sub/f', 'utf8'));
try { process.chdir('nope'); } catch (e) { console.log(e.code); }
const t = process.hrtime(); const d = process.hrtime(t); console.log(d.length, typeof process.hrtime.bigint(), process.uptime() >= 0, typeof process.memoryUsage().heapUsed, typeof performance.now());
console.log(require('os').EOL === '\n', require('os').platform(), typeof require('os').cpus().length, process.stdout.isTTY, process.exitCode, typeof process.nextTick);
JS
HELLO=there node a.js one --two=3 -x
