mkdir -p posts; printf -- '---\ntitle: First\ndate: 2024-01-02\n---\n# Hello\n\nSome *text* and `code`.\n\n- a\n- b\n' > posts/one.md; printf -- '---\ntitle: Second\ndate: 2024-03-04\n---\nPlain <b>\n' > posts/two.md
cat > build.js <<'JS'
const fs = require('fs'), path = require('path');
const esc = (s) => s.replace(/[&<>]/g, (c) => ({ '&': '&amp;', '<': '&lt;', '>': '&gt;' })[c]);
const md = (t) => t.split(/\n{2,}/).map((b) => b.startsWith('# ') ? `<h1>${esc(b.slice(2))}</h1>` : b.startsWith('- ') ? `<ul>${b.trim().split('\n').map((l) => `<li>${esc(l.slice(2))}</li>`).join('')}</ul>` : `<p>${esc(b.trim()).replace(/\*(.+?)\*/g, '<em>$1</em>').replace(/`(.+?)`/g, '<code>$1</code>')}</p>`).join('\n');
const posts = fs.readdirSync('posts').filter((f) => f.endsWith('.md')).map((f) => { const [, head, body] = fs.readFileSync(path.join('posts', f), 'utf8').match(/^---\n([\s\S]*?)\n---\n([\s\S]*)$/); return { slug: path.basename(f, '.md'), ...Object.fromEntries(head.split('\n').map((l) => l.split(': '))), html: md(body) }; }).sort((a, b) => b.date.localeCompare(a.date));
fs.mkdirSync('dist', { recursive: true });
for (const p of posts) fs.writeFileSync(`dist/${p.slug}.html`, `<title>${p.title}</title>\n${p.html}\n`);
fs.writeFileSync('dist/index.html', posts.map((p) => `<a href="${p.slug}.html">${p.title}</a>`).join('\n') + '\n');
console.log(posts);
JS
node build.js; for f in dist/*; do echo "== $f"; cat $f; done
