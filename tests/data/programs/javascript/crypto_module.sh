cat > a.js <<'JS'
const c = require('crypto');
for (const h of ['md5', 'sha1', 'sha256', 'sha512']) console.log(h, c.createHash(h).update('hello').update(Buffer.from(' world')).digest('hex'));
console.log(c.createHmac('sha256', 'key').update('data').digest('base64'), c.createHmac('sha1', 'k'.repeat(100)).update('d').digest('hex'));
console.log(c.randomUUID().length, /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/.test(c.randomUUID()), c.randomBytes(8).length, c.randomInt(10) < 10, c.timingSafeEqual(Buffer.from('a'), Buffer.from('a')));
try { c.createHash('nope'); } catch (e) { console.log(e instanceof Error); }
JS
node a.js
