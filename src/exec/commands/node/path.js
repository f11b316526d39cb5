// `path` and `path/posix`.
const { argType } = require('errors');

function text(value, name) {
  if (typeof value !== 'string') throw argType(name, 'of type string', value);
  return value;
}

function squeeze(path, absolute) {
  const out = [];
  for (const part of path.split('/')) {
    if (part === '' || part === '.') continue;
    if (part === '..') {
      if (out.length > 0 && out[out.length - 1] !== '..') out.pop();
      else if (!absolute) out.push('..');
    } else out.push(part);
  }
  return out.join('/');
}

const path = {
  sep: '/', delimiter: ':',
  normalize(path) {
    text(path, 'path');
    if (path === '') return '.';
    const absolute = path[0] === '/';
    let out = squeeze(path, absolute);
    if (out === '' && !absolute) out = '.';
    if (out !== '' && path.endsWith('/') && !(absolute && out === '')) out += '/';
    return absolute ? '/' + out : out;
  },
  isAbsolute: (path) => text(path, 'path')[0] === '/',
  join(...parts) {
    const joined = parts.map((part) => text(part, 'path')).filter((part) => part !== '').join('/');
    return joined === '' ? '.' : path.normalize(joined);
  },
  resolve(...parts) {
    let out = '';
    for (let i = parts.length - 1; i >= -1 && out[0] !== '/'; i--) {
      const part = i >= 0 ? text(parts[i], `paths[${i}]`) : sys.cwd();
      if (part !== '') out = out === '' ? part : `${part}/${out}`;
    }
    return '/' + squeeze(out, true);
  },
  dirname(path) {
    text(path, 'path');
    if (path === '') return '.';
    let end = path.length;
    while (end > 1 && path[end - 1] === '/') end--;
    const at = path.lastIndexOf('/', end - 1);
    if (at === -1) return '.';
    let stop = at;
    while (stop > 0 && path[stop - 1] === '/') stop--;
    return stop === 0 ? '/' : path.slice(0, stop);
  },
  basename(path, suffix) {
    text(path, 'path');
    let end = path.length;
    while (end > 0 && path[end - 1] === '/') end--;
    const base = path.slice(path.lastIndexOf('/', end - 1) + 1, end);
    if (suffix === undefined) return base;
    text(suffix, 'suffix');
    return base !== suffix && base.endsWith(suffix) ? base.slice(0, base.length - suffix.length) : base;
  },
  extname(name) {
    const base = path.basename(text(name, 'path'));
    const at = base.lastIndexOf('.');
    return at <= 0 || base === '..' ? '' : base.slice(at);
  },
  relative(from, to) {
    const [a, b] = [path.resolve(text(from, 'from')), path.resolve(text(to, 'to'))].map((p) => p.split('/').filter(Boolean));
    let same = 0;
    while (same < a.length && same < b.length && a[same] === b[same]) same++;
    return [...a.slice(same).map(() => '..'), ...b.slice(same)].join('/');
  },
  parse(name) {
    text(name, 'path');
    const root = name[0] === '/' ? '/' : '', base = path.basename(name), ext = path.extname(name);
    const end = name.replace(/\/+$/, '').length - base.length;
    let dir = end <= 0 ? '' : name.slice(0, end - 1);
    if (dir === '' && root) dir = root;
    return { root, dir, base, ext, name: ext ? base.slice(0, -ext.length) : base };
  },
  format(parts) {
    const dir = parts.dir || parts.root;
    const ext = parts.ext ? (parts.ext[0] === '.' ? parts.ext : '.' + parts.ext) : '';
    const base = parts.base || (parts.name || '') + ext;
    return !dir ? base : dir === parts.root ? dir + base : `${dir}/${base}`;
  },
  toNamespacedPath: (path) => path,
};
path.posix = path;
module.exports = path;
