cat > a.js <<'JS'
const fs = require('fs'), path = require('path');
fs.mkdirSync('out/deep/er', { recursive: true });
fs.writeFileSync('out/a.txt', 'one\ntwo\n');
fs.appendFileSync('out/a.txt', 'three\n');
console.log(fs.readFileSync('out/a.txt', 'utf8').split('\n'));
console.log(fs.existsSync('out'), fs.existsSync('nope'));
fs.copyFileSync('out/a.txt', 'out/b.txt');
fs.renameSync('out/b.txt', 'out/deep/c.txt');
console.log(fs.readdirSync('out').sort(), fs.readdirSync('out', { recursive: true }).sort());
for (const e of fs.readdirSync('out', { withFileTypes: true })) console.log(e.name, e.isDirectory(), e.isFile());
const st = fs.statSync('out/a.txt');
console.log(st.size, st.isFile(), st.mtime instanceof Date, (st.mode & 0o777).toString(8));
fs.unlinkSync('out/a.txt');
fs.rmSync('out', { recursive: true, force: true });
fs.rmSync('nope', { force: true });
console.log(fs.existsSync('out'), path.extname('x.tar.gz'));
fs.writeFileSync('bin', Buffer.from([0, 255, 10, 13]));
console.log(fs.readFileSync('bin'), fs.readFileSync('bin').length);
JS
node a.js; od -c bin
