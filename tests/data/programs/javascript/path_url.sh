cat > a.js <<'JS'
const path = require('path'), url = require('url');
console.log(path.join('a', '..', 'b', './c'), path.normalize('/a/./b//../c/'), path.dirname('/a/b.txt'), path.basename('/a/b.txt', '.txt'), path.extname('.bashrc'), path.relative('/a/b', '/a/c/d'), path.isAbsolute('x'), path.parse('/home/u/f.tar.gz'), path.format({ dir: '/x', name: 'n', ext: '.e' }), path.resolve('/a', 'b', '../c'), path.sep, path.parse('x'), path.join(''), path.dirname('a'), path.basename('/'));
const u = new URL('https://user:pw@Example.com:8080/p/a?x=1&y=a%20b#frag');
console.log(u, u.href, u.searchParams.get('y'), String(u), JSON.stringify({ u }));
u.searchParams.append('z', 'é&'); u.pathname = '/new path'; u.hash = ''; u.port = '443'; console.log(u.href, u.host, u.origin, new URL('../q?a', 'http://h/x/y/z').href);
const p = new URLSearchParams({ a: 1, b: 'two words' }); p.set('a', 2); p.delete('b'); p.append('c', '+&='); console.log(p, p.toString(), [...p], new URLSearchParams('?q=a+b&q=c').getAll('q'), p.has('c'), p.size);
try { new URL('nope'); } catch (e) { console.log(e.name, e.code, e.message, e.input); }
console.log(url.pathToFileURL('/a b/c#').href, url.fileURLToPath('file:///a%20b'), URL.canParse('x:'), encodeURIComponent('a b&é'), decodeURI('%E2%82%AC'), require('querystring').parse('a=1&b=2&a=3'), require('querystring').stringify({ a: [1, 2], b: 'x y' }));
const q = url.parse('http://a.com:80/p?q=1#h', true); console.log(q.host, q.pathname, q.query.q, q.hash, q.port);
JS
node a.js
