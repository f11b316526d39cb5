// `url`: URL and URLSearchParams. Parsing and setting is done outside, by the URL standard.
const { coded, argType } = require('errors');

const decode = (text) => sys.decode(Uint8Array.from(percent(text.replaceAll('+', ' '))), 'utf8');
function* percent(text) {
  const bytes = new Uint8Array(sys.encode(text, 'utf8'));
  for (let i = 0; i < bytes.length; i++) {
    const hex = bytes[i] === 37 ? String.fromCharCode(bytes[i + 1] ?? 0, bytes[i + 2] ?? 0) : '';
    if (/^[0-9a-fA-F]{2}$/.test(hex)) { yield parseInt(hex, 16); i += 2; } else yield bytes[i];
  }
}
const encode = (text) => encodeURIComponent(text.toWellFormed()).replace(/[!'()~]/g, (char) => '%' + char.charCodeAt(0).toString(16).toUpperCase()).replaceAll('%20', '+');

class URLSearchParams {
  #list = [];
  #changed = null;
  constructor(init) {
    if (init === undefined || init === null) return;
    if (typeof init === 'object' || typeof init === 'function') {
      if (typeof init[Symbol.iterator] === 'function') {
        for (const pair of init) {
          const [key, value, ...more] = pair;
          if (value === undefined || more.length > 0) throw coded(TypeError, 'ERR_INVALID_TUPLE', 'Each query pair must be an iterable [name, value] tuple');
          this.append(key, value);
        }
      } else for (const key of Reflect.ownKeys(init)) this.append(key, init[key]);
    } else this.#parse(String(init));
  }
  #parse(text) {
    this.#list = text.replace(/^\?/, '').split('&').filter(Boolean).map((part) => {
      const at = part.indexOf('=');
      return at === -1 ? [decode(part), ''] : [decode(part.slice(0, at)), decode(part.slice(at + 1))];
    });
  }
  static of(text, changed) { const it = new URLSearchParams(text); it.#changed = changed; return it; }
  static reset(it, text) { it.#parse(text); }
  #told() { if (this.#changed) this.#changed(this.toString()); }
  append(key, value) { this.#list.push([String(key), String(value)]); this.#told(); }
  delete(key, value) { this.#list = this.#list.filter(([k, v]) => k !== String(key) || (value !== undefined && v !== String(value))); this.#told(); }
  get(key) { return this.#list.find(([k]) => k === String(key))?.[1] ?? null; }
  getAll(key) { return this.#list.filter(([k]) => k === String(key)).map(([, v]) => v); }
  has(key, value) { return this.#list.some(([k, v]) => k === String(key) && (value === undefined || v === String(value))); }
  set(key, value) {
    const at = this.#list.findIndex(([k]) => k === String(key));
    if (at === -1) { this.append(key, value); return; }
    this.#list[at] = [String(key), String(value)];
    this.#list = this.#list.filter(([k], i) => i <= at || k !== String(key));
    this.#told();
  }
  sort() { this.#list.sort(([a], [b]) => a < b ? -1 : a > b ? 1 : 0); this.#told(); }
  forEach(call, self) { for (const [key, value] of this.#list) call.call(self, value, key, this); }
  *entries() { for (const [key, value] of this.#list) yield [key, value]; }
  *keys() { for (const [key] of this.#list) yield key; }
  *values() { for (const [, value] of this.#list) yield value; }
  [Symbol.iterator]() { return this.entries(); }
  get size() { return this.#list.length; }
  toString() { return this.#list.map(([key, value]) => `${encode(key)}=${encode(value)}`).join('&'); }
  [Symbol.for('nodejs.util.inspect.custom')](_depth, options, inspect) {
    const list = this.#list.map(([key, value]) => `${inspect(key, options)} => ${inspect(value, options)}`);
    return list.length === 0 ? 'URLSearchParams {}' : `URLSearchParams { ${list.join(', ')} }`;
  }
}

const PARTS = ['href', 'origin', 'protocol', 'username', 'password', 'host', 'hostname', 'port', 'pathname', 'search', 'hash'];

class URL {
  #parts;
  #params = null;
  constructor(input, base) {
    if (arguments.length === 0) throw coded(TypeError, 'ERR_MISSING_ARGS', 'The "url" argument must be specified');
    const parts = sys.url(String(input).toWellFormed(), base === undefined ? null : String(base));
    if (parts == null) {
      const error = coded(TypeError, 'ERR_INVALID_URL', 'Invalid URL');
      error.input = String(input);
      if (base !== undefined) error.base = String(base);
      throw error;
    }
    this.#parts = parts;
  }
  static canParse(input, base) { return sys.url(String(input), base === undefined ? null : String(base)) != null; }
  static get(it, name) { return it.#parts[PARTS.indexOf(name)]; }
  static put(it, name, value) {
    const parts = name === 'href' ? sys.url(value, null) : sys.urlSet(it.#parts[0], name, value);
    if (parts == null) { if (name === 'href') throw coded(TypeError, 'ERR_INVALID_URL', 'Invalid URL'); return; }
    it.#parts = parts;
    if (it.#params && (name === 'href' || name === 'search')) URLSearchParams.reset(it.#params, parts[9]);
  }
  get searchParams() {
    this.#params ??= URLSearchParams.of(this.#parts[9], (text) => {
      this.#parts = sys.urlSet(this.#parts[0], 'search', text) ?? this.#parts;
    });
    return this.#params;
  }
  toString() { return this.#parts[0]; }
  toJSON() { return this.#parts[0]; }
  [Symbol.for('nodejs.util.inspect.custom')](depth, options, inspect) {
    if (typeof depth === 'number' && depth < 0) return this.toString();
    const view = Object.create({ constructor: URL });
    for (const name of ['href', 'origin', 'protocol', 'username', 'password', 'host', 'hostname', 'port', 'pathname', 'search']) view[name] = this[name];
    view.searchParams = this.searchParams;
    view.hash = this.hash;
    return `URL ${inspect({ ...view }, options)}`;
  }
}
const { get, put } = URL;
delete URL.get; delete URL.put;
for (const name of PARTS) {
  Object.defineProperty(URL.prototype, name, {
    get() { return get(this, name); },
    ...(name === 'origin' ? {} : { set(value) { put(this, name, String(value)); } }),
    enumerable: true, configurable: true,
  });
}

function fileURLToPath(url) {
  if (typeof url === 'string') url = new URL(url);
  if (!(url instanceof URL)) throw argType('path', 'of type string or an instance of URL', url);
  if (url.protocol !== 'file:') throw coded(TypeError, 'ERR_INVALID_URL_SCHEME', 'The URL must be of scheme file');
  return decodeURIComponent(url.pathname);
}

function pathToFileURL(path) {
  const full = require('path').resolve(path) + (path.endsWith('/') && path !== '/' ? '/' : '');
  return new URL('file://' + full.split('/').map((part) => encodeURIComponent(part).replace(/%(3A|40|24|26|2B|2C|3B|3D)/g, (all) => decodeURIComponent(all))).join('/'));
}

// The interface of before URL.
function parse(text, query = false) {
  const out = { protocol: null, slashes: null, auth: null, host: null, port: null, hostname: null, hash: null, search: null, query: null, pathname: null, path: null, href: text };
  const found = /^([a-z][a-z0-9+.-]*:)?(\/\/)?(?:([^/?#@]*)@)?([^/?#]*)?([^?#]*)(\?[^#]*)?(#.*)?$/i.exec(text.trim());
  let [, protocol, slashes, auth, host, pathname, search, hash] = found;
  if (!slashes) { pathname = (auth ? auth + '@' : '') + (host ?? '') + pathname; auth = host = undefined; }
  if (protocol) out.protocol = protocol.toLowerCase();
  if (slashes) { out.slashes = true; out.host = (host ?? '').toLowerCase(); const [name, port] = out.host.split(/:(?=\d+$)/); out.hostname = name; if (port) out.port = port; if (!pathname && /^https?:$/.test(out.protocol ?? '')) pathname = '/'; }
  if (auth) out.auth = decodeURIComponent(auth);
  out.pathname = pathname || null;
  out.search = search ?? (query ? '' : null);
  const raw = search ? search.slice(1) : query ? '' : null;
  out.query = query ? require('querystring').parse(raw) : raw;
  out.hash = hash ?? null;
  out.path = out.pathname || search ? (out.pathname ?? '') + (search ?? '') : null;
  out.href = format(out);
  return out;
}

function format(it) {
  if (it instanceof URL) return it.href;
  if (typeof it === 'string') return parse(it).href;
  const search = it.search ?? (it.query && typeof it.query === 'object' ? '?' + require('querystring').stringify(it.query) : '');
  const host = it.host ?? (it.hostname ? it.hostname + (it.port ? `:${it.port}` : '') : '');
  const protocol = it.protocol ? it.protocol.replace(/:?$/, ':') : '';
  return `${protocol}${it.slashes || /^(https?|ftp|file):$/.test(protocol) ? '//' : ''}${it.auth ? it.auth + '@' : ''}${host}${it.pathname ?? ''}${search ?? ''}${it.hash ?? ''}`;
}

module.exports = { URL, URLSearchParams, fileURLToPath, pathToFileURL, parse, format, resolve: (from, to) => new URL(to, new URL(from, 'resolve://')).href.replace(/^resolve:\/\//, ''), domainToASCII: (name) => new URL(`http://${name}`).hostname };
