cat > a.js <<'JS'
const fs = require('fs');
const tries = [
  () => fs.readFileSync('nope'), () => fs.readFileSync('.'), () => fs.renameSync('a', 'b'), () => fs.mkdirSync('.'),
  () => fs.rmdirSync('nope'), () => fs.unlinkSync('nope'), () => fs.readdirSync('nope'), () => fs.statSync('nope'), () => fs.lstatSync('nope'),
  () => fs.accessSync('nope'), () => fs.copyFileSync('nope', 'x'), () => fs.rmSync('nope'), () => fs.writeFileSync('no/such/dir', ''),
  () => fs.readFileSync(undefined), () => fs.writeFileSync('x', {}), () => fs.readlinkSync('nope'), () => fs.openSync('nope'),
  () => fs.writeFileSync('a.js', 'x', { flag: 'wx' }), () => fs.readFileSync('a.js', 'nocode'),
];
for (const t of tries) try { t(); console.log('no error', String(t)); } catch (e) { console.log(e.name, e.code, e.message, Object.keys(e)); }
fs.readFile('nope', (e, d) => console.log('callback', e.code, d));
fs.promises.readFile('nope').catch((e) => console.log('promise', e.code, e.syscall, e.path));
JS
node a.js
