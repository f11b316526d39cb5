// `module`: how names become files, and files modules, CommonJS and ES alike.
const fs = require('fs');
const path = require('path');
const { coded } = require('errors');

const NAMES = ['assert', 'assert/strict', 'buffer', 'child_process', 'constants', 'crypto', 'events', 'fs', 'fs/promises', 'module', 'os', 'path', 'path/posix', 'perf_hooks', 'process', 'querystring', 'readline', 'readline/promises', 'stream', 'stream/promises', 'string_decoder', 'sys', 'timers', 'timers/promises', 'url', 'util', 'util/types', 'zlib'];
const REFUSED = { async_hooks: 'asynchronous contexts', cluster: 'processes', dgram: 'network', dns: 'network', http: 'network', http2: 'network', https: 'network', inspector: 'debugger', net: 'network', repl: 'terminal', test: 'test runner', tls: 'network', tty: 'terminal', v8: 'V8', vm: 'second contexts', wasi: 'WebAssembly', worker_threads: 'threads' };

const isBuiltin = (name) => { const bare = name.replace(/^node:/, ''); return NAMES.includes(bare) || (bare in REFUSED && (bare !== 'test' || name !== bare)); };

function refusal(name, what) {
  return coded(Error, 'ERR_NOT_AVAILABLE_IN_SANDBOX', `node:${name} is not available in this sandbox: it has no ${what}`);
}

function refused(name, what) {
  return new Proxy({}, {
    get(_target, key) {
      if (typeof key === 'symbol' || key === 'then' || key === 'default' || key === '__esModule') return undefined;
      return function () { throw refusal(name, what); };
    },
  });
}

const made = new Map();
function builtin(name) {
  const bare = name.replace(/^node:/, '');
  if (!made.has(bare)) made.set(bare, make(bare));
  return made.get(bare);
}

function make(name) {
  switch (name) {
    case 'assert/strict': return require('assert').strict;
    case 'fs/promises': return fs.promises;
    case 'path/posix': return path;
    case 'module': return Object.assign(Module, { Module });
    case 'perf_hooks': return { performance: globalThis.performance, PerformanceObserver: class { observe() {} disconnect() {} } };
    case 'process': return process;
    case 'readline/promises': return require('readline').promises;
    case 'stream/promises': return require('stream').promises;
    case 'sys': return require('util');
    case 'timers': return require('loop').timers;
    case 'timers/promises': return require('loop').timers.promises;
    case 'util/types': return require('util').types;
    case 'constants': return { ...fs.constants, ...require('os').constants.errno };
    case 'child_process': return Object.fromEntries(['exec', 'execSync', 'execFile', 'execFileSync', 'spawn', 'spawnSync', 'fork'].map((call) => [call, () => { throw refusal(name, 'processes; run commands from the bash script instead'); }]));
    default: return name in REFUSED ? refused(name, REFUSED[name]) : require(name);
  }
}

// --- names to files ---

const kindOf = (file) => { const found = sys.stat(file, true); return typeof found === 'string' ? undefined : found[0]; };
const isFile = (file) => kindOf(file) === 'file';
const EXTENSIONS = ['.js', '.json', '.mjs', '.cjs'];

const packages = new Map();
function packageAt(dir) {
  if (packages.has(dir)) return packages.get(dir);
  const file = path.join(dir, 'package.json'), text = sys.readText(file);
  let found = null;
  if (Array.isArray(text)) {
    try { found = JSON.parse(text[0]); } catch (error) {
      throw coded(Error, 'ERR_INVALID_PACKAGE_CONFIG', `Invalid package config ${file}. ${error.message}`);
    }
  }
  packages.set(dir, found);
  return found;
}

function packageOf(file) {
  for (let dir = path.dirname(file); ; dir = path.dirname(dir)) {
    const found = packageAt(dir);
    if (found) return [dir, found];
    if (dir === '/' || path.basename(dir) === 'node_modules') return [null, {}];
  }
}

function asFile(base) {
  if (isFile(base)) return base;
  return EXTENSIONS.map((extension) => base + extension).find(isFile);
}

function asDirectory(dir) {
  if (kindOf(dir) !== 'dir') return undefined;
  const main = packageAt(dir)?.main;
  if (typeof main === 'string') {
    const found = asFile(path.join(dir, main)) ?? asFile(path.join(dir, main, 'index'));
    if (found) return found;
  }
  return asFile(path.join(dir, 'index'));
}

function target(dir, value, conditions, star) {
  if (typeof value === 'string') return path.join(dir, star === undefined ? value : value.replaceAll('*', star));
  if (Array.isArray(value)) { for (const item of value) { const found = target(dir, item, conditions, star); if (found) return found; } return undefined; }
  if (value && typeof value === 'object') for (const [key, item] of Object.entries(value)) if (key === 'default' || conditions.includes(key)) { const found = target(dir, item, conditions, star); if (found) return found; }
  return undefined;
}

function mapped(dir, map, key, conditions) {
  if (key in map && !key.includes('*')) return target(dir, map[key], conditions);
  const patterns = Object.keys(map).filter((it) => it.includes('*')).sort((a, b) => b.indexOf('*') - a.indexOf('*'));
  for (const pattern of patterns) {
    const [before, after] = pattern.split('*');
    if (key.startsWith(before) && key.endsWith(after) && key.length >= before.length + after.length) return target(dir, map[pattern], conditions, key.slice(before.length, key.length - after.length));
  }
  return undefined;
}

const real = (file) => { const found = sys.realpath(file); return Array.isArray(found) ? found[0] : file; };

// The file that `name` means in `from`, or undefined.
function find(name, from, conditions, exact) {
  if (/^(\.{0,2}\/|\.{1,2}$)/.test(name)) {
    const full = path.resolve(path.dirname(from), name);
    if (exact) return isFile(full) ? real(full) : undefined;
    const found = (name.endsWith('/') || /(^|\/)\.{1,2}$/.test(name) ? undefined : asFile(full)) ?? asDirectory(full);
    return found && real(found);
  }
  if (name[0] === '#') {
    const [dir, own] = packageOf(from);
    const found = own.imports && mapped(dir, own.imports, name, conditions);
    return found && real(found);
  }
  const parts = name.split('/'), count = name[0] === '@' ? 2 : 1;
  const rest = parts.slice(count).join('/'), key = rest === '' ? '.' : `./${rest}`;
  const [own, self] = packageOf(from);
  if (own && self.name === parts.slice(0, count).join('/') && self.exports) return exported(own, self, key, conditions, name);
  for (let dir = path.dirname(from); ; dir = path.dirname(dir)) {
    if (path.basename(dir) !== 'node_modules') {
      const base = path.join(dir, 'node_modules', ...parts.slice(0, count));
      if (kindOf(base) === 'dir') {
        const found = packageAt(base);
        if (found && found.exports !== undefined && found.exports !== null) return exported(base, found, key, conditions, name);
        const full = path.join(base, rest), file = (rest === '' ? undefined : asFile(full)) ?? asDirectory(full);
        if (file) return real(file);
      } else if (rest === '') { const file = asFile(base); if (file) return real(file); }
    }
    if (dir === '/') return undefined;
  }
}

function exported(dir, it, key, conditions, name) {
  const { exports: value } = it;
  const map = typeof value === 'object' && !Array.isArray(value) && Object.keys(value).some((k) => k[0] === '.') ? value : { '.': value };
  const found = mapped(dir, map, key, conditions);
  if (!found) throw coded(Error, 'ERR_PACKAGE_PATH_NOT_EXPORTED', key === '.' ? `No "exports" main defined in ${dir}/package.json` : `Package subpath '${key}' is not defined by "exports" in ${dir}/package.json`);
  if (!isFile(found)) throw coded(Error, 'MODULE_NOT_FOUND', `Cannot find module '${found}'`);
  return real(found);
}

const REQUIRE = ['node', 'require', 'module-sync'], IMPORT = ['node', 'import', 'module-sync'];

// --- CommonJS ---

const cache = Object.create(null);

function Module(id = '', parent) {
  this.id = id;
  this.path = path.dirname(id);
  this.exports = {};
  this.filename = id;
  this.loaded = false;
  this.children = [];
  this.paths = id[0] === '/' ? lookups(this.path) : [];
  Object.defineProperty(this, 'parent', { value: parent, writable: true, configurable: true, enumerable: false });
}
const lookups = (dir) => { const out = []; for (let at = dir; ; at = path.dirname(at)) { if (path.basename(at) !== 'node_modules') out.push(path.join(at, 'node_modules')); if (at === '/') return out; } };
Module.prototype.require = function (name) { return load(name, this); };
Module.prototype._compile = function (text, file) { compile(text, file)(this.exports, requirer(this), this, file, path.dirname(file)); };
Module._cache = cache;
Module._extensions = { '.js': 1, '.json': 1 };
Module._nodeModulePaths = lookups;
Module._resolveFilename = (name, parent) => resolve(name, parent);
Module.builtinModules = [...NAMES, ...Object.keys(REFUSED)];
Module.isBuiltin = isBuiltin;
Module.createRequire = (from) => requirer(new Module(String(from).startsWith('file:') ? require('url').fileURLToPath(from) : from));

function resolve(name, parent) {
  if (typeof name !== 'string') throw require('errors').argType('id', 'of type string', name);
  if (name === '') throw coded(TypeError, 'ERR_INVALID_ARG_VALUE', "The argument 'id' must be a non-empty string. Received ''");
  const found = find(name, parent.filename, REQUIRE, false);
  if (found) return found;
  const stack = [];
  for (let at = parent; at; at = at.parent) stack.push(at.filename);
  const error = new Error(`Cannot find module '${name}'\nRequire stack:\n${stack.map((file) => `- ${file}`).join('\n')}`);
  error.code = 'MODULE_NOT_FOUND';
  error.requireStack = stack;
  throw error;
}

function load(name, parent) {
  if (isBuiltin(name)) return builtin(name);
  if (name.startsWith('node:')) throw coded(Error, 'ERR_UNKNOWN_BUILTIN_MODULE', `No such built-in module: ${name}`);
  const file = resolve(name, parent);
  if (cache[file]) return cache[file].exports;
  const module = new Module(file, parent);
  parent.children.push(module);
  cache[file] = module;
  try { start(module); } catch (error) { delete cache[file]; throw error; }
  module.loaded = true;
  return module.exports;
}

const text = (file) => fs.readFileSync(file, 'utf8').replace(/^\ufeff/, '');

function json(file) {
  try { return JSON.parse(text(file)); } catch (error) { error.message = `${file}: ${error.message}`; throw error; }
}

function isEs(file) {
  if (/\.m[jt]s$/.test(file)) return true;
  if (/\.c[jt]s$|\.json$/.test(file)) return false;
  return packageOf(file)[1].type === 'module';
}

const LOOKS = /(^|[;\n}])\s*(import\s*[\w*{'"(]|import\.meta|export\s*[\w*{])|\bimport\.meta\b|\bawait\b/;
// Whether what is no CommonJS is meant as an ES module.
const looksEs = (error, source) => error instanceof SyntaxError && LOOKS.test(source);

// A source without its types; what cannot be without them is told with its place.
function untyped(source, file, es) {
  const stripped = sys.stripTypes(source, es);
  if (typeof stripped === 'string') return stripped;
  const [code, message, line, column] = stripped;
  const error = coded(SyntaxError, code, message);
  const where = line === undefined ? file : `${file}:${line}:${column}`;
  Object.defineProperty(error, 'stack', { value: `SyntaxError [${code}]: ${message}\n    at ${where}`, writable: true, configurable: true, enumerable: false });
  throw error;
}

// The JavaScript of a file.
function code(file) {
  if (/\.[jt]sx$/.test(file)) throw coded(TypeError, 'ERR_UNKNOWN_FILE_EXTENSION', `Unknown file extension "${path.extname(file)}" for ${file}`);
  const source = text(file);
  if (!/\.[mc]?ts$/.test(file)) return source;
  if (file.includes('/node_modules/')) throw coded(Error, 'ERR_UNSUPPORTED_NODE_MODULES_TYPE_STRIPPING', `Stripping types is currently unsupported for files under node_modules, for "${require('url').pathToFileURL(file).href}"`);
  return untyped(source, file, file.endsWith('.mts') ? true : undefined);
}

function start(module) {
  const file = module.filename;
  if (file.endsWith('.json')) { module.exports = json(file); return; }
  const named = !isEs(file);
  if (named) {
    const source = code(file);
    let body;
    try { body = compile(source, file); } catch (error) { if (/\.c[jt]s$/.test(file) || !looksEs(error, source)) throw error; }
    if (body) {
      body.call(module.exports, module.exports, requirer(module), module, file, path.dirname(file));
      return;
    }
  }
  const space = sys.importNow(file);
  if (space === null) throw coded(Error, 'ERR_REQUIRE_ASYNC_MODULE', 'require() cannot be used on an ESM graph with top-level await. Use import() instead.');
  module.exports = 'module.exports' in space ? space['module.exports'] : space;
}

const compile = (source, file) => sys.compile(source.startsWith('#!') ? '//' + source : source, file);

function requirer(module) {
  const call = (name) => load(name, module);
  call.resolve = Object.assign((name) => isBuiltin(name) ? name : resolve(name, module), { paths: () => module.paths });
  call.main = mainModule;
  call.cache = cache;
  call.extensions = Module._extensions;
  return Object.defineProperty(call, 'name', { value: 'require' });
}

// --- ES modules: asked by the engine ---

let mainModule, pending = 0;

sys.resolve = (base, name) => {
  if (sys.texts.has(name)) return name;
  if (isBuiltin(name)) return name.startsWith('node:') ? name : `node:${name}`;
  if (name.startsWith('node:')) throw coded(Error, 'ERR_UNKNOWN_BUILTIN_MODULE', `No such built-in module: ${name}`);
  const from = base[0] === '/' ? base : path.join(sys.cwd(), base);
  if (name.startsWith('file:')) name = require('url').fileURLToPath(name);
  const found = find(name, from, IMPORT, true);
  if (found) return found;
  const relative = /^\.{0,2}\//.test(name);
  throw coded(Error, 'ERR_MODULE_NOT_FOUND', relative
    ? `Cannot find module '${path.resolve(path.dirname(from), name)}' imported from ${from}` : `Cannot find package '${name}' imported from ${from}`);
};

const names = (value) => Object.keys(Object(value)).filter((key) => key !== 'default' && key !== '__esModule' && typeof value !== 'string' && !/^\d/.test(key));
let shared = 0;
sys.shared = new Map();

// Source of an ES module that hands out what is there already.
function wrapper(value) {
  const key = shared++;
  sys.shared.set(key, value);
  const list = names(value).map((name, i) => `const _${i} = it[${JSON.stringify(name)}]; export { _${i} as ${JSON.stringify(name)} };`);
  return `const it = globalThis.__sqlfs.shared.get(${key}); export default it;\n${list.join('\n')}`;
}

sys.load = (id) => {
  if (id.startsWith('node:')) return wrapper(builtin(id));
  if (sys.texts.has(id)) return sys.texts.get(id);
  if (id.endsWith('.json')) return `export default JSON.parse(${JSON.stringify(JSON.stringify(json(id)))});`;
  const source = code(id);
  if (isEs(id)) return source;
  if (!/\.c[jt]s$/.test(id) && !cache[id]) {
    try { compile(source, id); } catch (error) { if (looksEs(error, source)) return source; throw error; }
  }
  return wrapper(load(id, { filename: id, children: [] }));
};
sys.texts = new Map();

sys.meta = (meta, id) => {
  if (id[0] !== '/') return;
  meta.url = require('url').pathToFileURL(id).href;
  meta.filename = id;
  meta.dirname = path.dirname(id);
  meta.resolve = (name) => { const found = sys.resolve(id, name); return found[0] === '/' ? require('url').pathToFileURL(found).href : found; };
};

// --- the program ---

function entry(name) {
  const full = path.resolve(name);
  const found = asFile(full) ?? asDirectory(full);
  if (found) return real(found);
  const error = new Error(`Cannot find module '${full}'`);
  error.code = 'MODULE_NOT_FOUND';
  error.requireStack = [];
  throw error;
}

function importMain(id) {
  pending++;
  sys.import(id).then(() => { pending--; }, (error) => { pending--; sys.uncaught(error); });
}

function run(file) {
  if (isEs(file)) { importMain(file); return; }
  const module = new Module('.', null);
  Object.assign(module, { filename: file, path: path.dirname(file), paths: lookups(path.dirname(file)) });
  mainModule = module;
  cache[file] = module;
  if (file.endsWith('.json')) { module.exports = json(file); return; }
  const source = code(file);
  let body;
  try { body = compile(source, file); } catch (error) {
    if (/\.c[jt]s$/.test(file) || !looksEs(error, source)) throw error;
    delete cache[file];
    importMain(file);
    return;
  }
  body.call(module.exports, module.exports, requirer(module), module, file, path.dirname(file));
  module.loaded = true;
}

// Only reads the program. What is no CommonJS and looks like an ES module is not read: the
// engine reads one only together with what it imports.
function check(file) {
  const source = code(file);
  if (isEs(file)) return;
  try { compile(source, file); } catch (error) { if (!looksEs(error, source)) throw error; }
}

// Text of the command line or of standard input: a script with `require` among its globals.
function runText(name, source, { print, es, types }) {
  if (types) source = untyped(source, name, es);
  const file = path.join(sys.cwd(), name), module = new Module(file, undefined);
  const asModule = () => { sys.texts.set(file, source); importMain(file); };
  if (es) { asModule(); return; }
  for (const [key, value] of Object.entries({ require: requirer(module), module, exports: module.exports, __filename: name, __dirname: '.' })) {
    Object.defineProperty(globalThis, key, { value, writable: true, configurable: true, enumerable: false });
  }
  for (const key of NAMES) {
    if (key in globalThis || key.includes('/')) continue;
    Object.defineProperty(globalThis, key, { get: () => builtin(key), set(value) { Object.defineProperty(globalThis, key, { value, writable: true, configurable: true, enumerable: true }); }, configurable: true, enumerable: false });
  }
  let result;
  try { compile(source, name); } catch (error) {
    if (!looksEs(error, source) || print) throw error;
    asModule();
    return;
  }
  result = sys.script(source, name);
  if (print) console.log(result);
}

module.exports = { entry, run, check, runText, unsettled: () => pending > 0 };
