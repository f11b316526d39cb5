cat > a.js <<'JS'
const fs = require('fs');
const fd = fs.openSync('f', 'w+'); console.log(typeof fd, fs.writeSync(fd, 'hello world'), fs.writeSync(fd, Buffer.from('!!')), fs.fstatSync(fd).size);
const b = Buffer.alloc(5); console.log(fs.readSync(fd, b, 0, 5, 6), b.toString()); fs.ftruncateSync(fd, 5); fs.closeSync(fd); console.log(fs.readFileSync('f', 'utf8'));
const a = fs.openSync('f', 'a'); fs.writeSync(a, ' more'); fs.closeSync(a); const r = fs.openSync('f'); let s = '', n; while ((n = fs.readSync(r, b, 0, 5, null)) > 0) s += b.toString('utf8', 0, n); fs.closeSync(r); console.log(s);
fs.symlinkSync('f', 'l'); console.log(fs.readlinkSync('l'), fs.lstatSync('l').isSymbolicLink(), fs.statSync('l').isFile(), fs.realpathSync('l') === fs.realpathSync('f')); fs.chmodSync('f', 0o600); console.log((fs.statSync('f').mode & 0o777).toString(8)); fs.utimesSync('f', 1, 1700000000); console.log(fs.statSync('f').mtimeMs, fs.statSync('f').mtime);
fs.cpSync('.', '/tmp/nowhere-' + process.pid + '/x', { recursive: true, filter: undefined }); fs.rmSync('/tmp/nowhere-' + process.pid, { recursive: true }); console.log(fs.mkdtempSync('tmp-').length, fs.mkdirSync('m/n', { recursive: true }), fs.mkdirSync('m/n', { recursive: true })); fs.writeFileSync('g', 'abc', { flag: 'a' }); fs.writeFileSync('g', 'def', { flag: 'a', encoding: 'utf8' }); console.log(fs.readFileSync('g', { encoding: 'utf8' }), fs.statSync('nope', { throwIfNoEntry: false })); try { fs.closeSync(99); } catch (e) { console.log(e.code); }
JS
node a.js
