// `fs` over the sandbox's files. All of it happens at once; callbacks and promises are told
// of it in a later turn, as in Node.
const { errno, argType, coded } = require('errors');
const { Buffer, encoding } = require('buffer');
const { later } = require('loop');

function pathOf(path, name = 'path') {
  if (typeof path === 'string') { if (!path.includes('\0')) return path; }
  else if (path instanceof URL) return require('url').fileURLToPath(path);
  else if (ArrayBuffer.isView(path)) return Buffer.from(path).toString();
  else throw argType(name, 'of type string or an instance of Buffer or URL', path);
  throw coded(TypeError, 'ERR_INVALID_ARG_VALUE', `The argument '${name}' must be a string, Uint8Array, or URL without null bytes. Received ${require('inspect').inspect(path)}`);
}

// Calls outside answer with a text where they fail: the error's code.
function check(result, syscall, path, dest) {
  if (typeof result === 'string') throw errno(result, syscall, path, dest);
  return result;
}

const optionsOf = (options) => typeof options === 'string' ? { encoding: options } : options ?? {};

function bytesOf(data, name) {
  if (typeof data === 'string') return data;
  if (ArrayBuffer.isView(data)) return new Uint8Array(data.buffer, data.byteOffset, data.byteLength);
  throw argType('data', 'of type string or an instance of Buffer, TypedArray, or DataView', data);
}

const STANDARD = { '/dev/stdout': 1, '/dev/fd/1': 1, '/dev/stderr': 2, '/dev/fd/2': 2 };

function put(path, data, name, mode) {
  if (path in STANDARD) { fs.writeSync(STANDARD[path], data, undefined, name); return; }
  if (typeof data === 'string' && encoding(name) !== 'utf8') data = new Uint8Array(sys.encode(data, encoding(name)));
  check(sys.write(path, data, mode), 'open', path);
}

const S_IFMT = 0o170000;
const KINDS = { file: 0o100000, dir: 0o040000, link: 0o120000 };

class StatsBase {
  isFile() { return (Number(this.mode) & S_IFMT) === KINDS.file; }
  isDirectory() { return (Number(this.mode) & S_IFMT) === KINDS.dir; }
  isSymbolicLink() { return (Number(this.mode) & S_IFMT) === KINDS.link; }
  isBlockDevice() { return false; }
  isCharacterDevice() { return false; }
  isFIFO() { return false; }
  isSocket() { return false; }
}
class Stats extends StatsBase {}
class BigIntStats extends StatsBase {}

function stats([kind, mode, size, mtime, ino, nlink], options) {
  const ms = mtime, date = new Date(Math.floor(ms));
  const whole = { dev: 1, mode: KINDS[kind] | mode, nlink, uid: 0, gid: 0, rdev: 0, blksize: 4096, ino, size, blocks: Math.ceil(size / 512) };
  const times = { atimeMs: ms, mtimeMs: ms, ctimeMs: ms, birthtimeMs: ms };
  const dates = { atime: date, mtime: date, ctime: date, birthtime: date };
  if (options && options.bigint) {
    const big = Object.assign(new BigIntStats(), whole, times);
    for (const key of Object.keys(big)) big[key] = BigInt(Math.floor(big[key]));
    for (const key of ['atime', 'mtime', 'ctime', 'birthtime']) big[`${key}Ns`] = BigInt(Math.floor(ms * 1e6));
    return Object.assign(big, dates);
  }
  return Object.assign(new Stats(), whole, times, dates);
}

class Dirent {
  constructor(name, dir, kind) {
    this.name = name;
    this.parentPath = dir;
    this.path = dir;
    Object.defineProperty(this, 'kind', { value: kind });
    this[Symbol('type')] = { file: 1, dir: 2, link: 3 }[kind];
  }
  isFile() { return this.kind === 'file'; }
  isDirectory() { return this.kind === 'dir'; }
  isSymbolicLink() { return this.kind === 'link'; }
  isBlockDevice() { return false; }
  isCharacterDevice() { return false; }
  isFIFO() { return false; }
  isSocket() { return false; }
}

// Open files: number -> what and where. 0, 1 and 2 are the program's own.
const open = new Map();
let nextFd = 17;

function entry(fd, syscall) {
  const it = open.get(fd);
  if (!it) throw errno('EBADF', syscall);
  return it;
}

const FLAGS = { r: {}, 'r+': { write: true }, rs: {}, 'rs+': { write: true }, w: { write: true, create: true, cut: true }, 'w+': { write: true, create: true, cut: true }, wx: { write: true, create: true, fresh: true }, 'wx+': { write: true, create: true, fresh: true }, a: { write: true, create: true, append: true }, 'a+': { write: true, create: true, append: true }, ax: { write: true, create: true, append: true, fresh: true }, 'ax+': { write: true, create: true, append: true, fresh: true } };

function flagsOf(flags) {
  if (typeof flags === 'number') {
    return { write: (flags & 3) !== 0, create: !!(flags & 0o100), fresh: !!(flags & 0o200), cut: !!(flags & 0o1000), append: !!(flags & 0o2000) };
  }
  const known = FLAGS[flags ?? 'r'];
  if (!known) throw coded(TypeError, 'ERR_INVALID_ARG_VALUE', `The argument 'flags' is invalid. Received ${require('inspect').inspect(flags)}`);
  return known;
}

const fs = {
  readFileSync(path, options) {
    const { encoding: name, flag } = optionsOf(options);
    if (name && !Buffer.isEncoding(name)) throw coded(TypeError, 'ERR_INVALID_ARG_VALUE', `The argument 'encoding' is invalid encoding. Received ${require('inspect').inspect(name)}`);
    if (typeof path === 'number') return readFd(path, name);
    path = pathOf(path);
    if (path === '/dev/stdin' || path === '/dev/fd/0') return readFd(0, name);
    if (flag !== undefined && flag !== 'r') fs.closeSync(fs.openSync(path, flag));
    // "Is a directory" is the answer to read(2), which knows no path.
    if (name && encoding(name) === 'utf8') {
      const text = sys.readText(path);
      if (Array.isArray(text)) return text[0];
      throw text === 'EISDIR' ? errno(text, 'read') : errno(text, 'open', path);
    }
    const data = sys.read(path);
    if (typeof data === 'string') throw data === 'EISDIR' ? errno(data, 'read') : errno(data, 'open', path);
    const buffer = Buffer.from(data);
    return name ? buffer.toString(name) : buffer;
  },
  writeFileSync(path, data, options) {
    const { encoding: name, flag = 'w', mode } = optionsOf(options);
    data = bytesOf(data, name);
    if (typeof path === 'number') { fs.writeSync(path, data); return; }
    path = pathOf(path);
    const flags = flagsOf(flag);
    if (flags.append) { fs.appendFileSync(path, data, name); return; }
    if (flags.fresh && fs.existsSync(path)) throw errno('EEXIST', 'open', path);
    if (!flags.create && !fs.existsSync(path)) throw errno('ENOENT', 'open', path);
    put(path, data, name, mode);
  },
  appendFileSync(path, data, options) {
    const { encoding: name } = optionsOf(options);
    data = bytesOf(data);
    if (typeof path === 'number') { fs.writeSync(path, data); return; }
    path = pathOf(path);
    if (path in STANDARD) { put(path, data, name); return; }
    if (typeof data === 'string' && encoding(name) !== 'utf8') data = new Uint8Array(sys.encode(data, encoding(name)));
    check(sys.append(path, data), 'open', path);
  },
  existsSync(path) {
    try { return !(typeof sys.stat(pathOf(path), true) === 'string'); } catch { return false; }
  },
  accessSync(path) { check(sys.stat(pathOf(path), true), 'access', path); },
  statSync(path, options) { return look(path, options, true, 'stat'); },
  lstatSync(path, options) { return look(path, options, false, 'lstat'); },
  fstatSync(fd, options) {
    if (fd >= 0 && fd <= 2) return stats(['file', 0o600, fd === 0 ? sys.stdin().byteLength : 0, 0, 0, 1], options);
    return fs.statSync(entry(fd, 'fstat').path, options);
  },
  readdirSync(path, options) {
    const { withFileTypes, recursive } = optionsOf(options);
    path = pathOf(path);
    const out = [];
    const walk = (dir, before) => {
      for (const [name, kind] of check(sys.readdir(dir), 'scandir', dir)) {
        out.push(withFileTypes ? new Dirent(name, dir, kind) : before + name);
        if (recursive && kind === 'dir') walk(`${dir.replace(/\/+$/, '')}/${name}`, `${before}${name}/`);
      }
    };
    walk(path, '');
    return out;
  },
  mkdirSync(path, options) {
    path = pathOf(path);
    const recursive = typeof options === 'object' && options !== null && options.recursive;
    if (!recursive) { check(sys.mkdir(path), 'mkdir', path); return undefined; }
    const made = sys.mkdirAll(path);
    if (typeof made === 'string') throw errno(made, 'mkdir', path);
    return made[0] ?? undefined;
  },
  mkdtempSync(prefix) {
    const path = pathOf(prefix, 'prefix') + Array.from(new Uint8Array(sys.randomBytes(6)), (byte) => 'abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789'[byte % 62]).join('');
    check(sys.mkdir(path), 'mkdtemp', `${prefix}XXXXXX`);
    return path;
  },
  rmdirSync(path, options) {
    if (options && options.recursive) { fs.rmSync(path, { recursive: true }); return; }
    check(sys.rmdir(pathOf(path)), 'rmdir', path);
  },
  unlinkSync(path) { check(sys.unlink(pathOf(path)), 'unlink', path); },
  rmSync(path, { recursive = false, force = false } = {}) {
    path = pathOf(path);
    const found = sys.stat(path, false);
    if (typeof found === 'string') {
      if (force && found === 'ENOENT') return;
      throw errno(found, 'lstat', path);
    }
    if (found[0] !== 'dir') { check(sys.unlink(path), 'rm', path); return; }
    if (!recursive) {
      const error = coded(Error, 'ERR_FS_EISDIR', `Path is a directory: rm returned EISDIR (is a directory) ${path}`);
      Object.defineProperty(error, 'name', { value: 'SystemError', configurable: true, writable: true });
      throw Object.assign(error, { info: { code: 'EISDIR', message: 'is a directory', path, syscall: 'rm', errno: 21 }, errno: 21, syscall: 'rm', path });
    }
    check(sys.removeAll(path), 'rm', path);
  },
  renameSync(from, to) { check(sys.rename(pathOf(from, 'oldPath'), pathOf(to, 'newPath')), 'rename', from, to); },
  copyFileSync(from, to, mode = 0) {
    from = pathOf(from, 'src'); to = pathOf(to, 'dest');
    if ((mode & 1) && fs.existsSync(to)) throw errno('EEXIST', 'copyfile', from, to);
    check(sys.copy(from, to), 'copyfile', from, to);
  },
  cpSync(from, to, options = {}) {
    from = pathOf(from, 'src'); to = pathOf(to, 'dest');
    const found = check(sys.stat(from, false), 'lstat', from);
    if (found[0] === 'dir') {
      if (!options.recursive) throw coded(Error, 'ERR_FS_EISDIR', `Recursive option not enabled, cannot copy a directory: ${from}`);
      fs.mkdirSync(to, { recursive: true });
      for (const [name] of check(sys.readdir(from), 'scandir', from)) fs.cpSync(`${from}/${name}`, `${to}/${name}`, options);
    } else if (found[0] === 'link') fs.symlinkSync(fs.readlinkSync(from), to);
    else if (options.force === false && fs.existsSync(to)) { if (options.errorOnExist) throw errno('EEXIST', 'cp', to); }
    else fs.copyFileSync(from, to);
  },
  symlinkSync(target, path) { check(sys.symlink(pathOf(target, 'target'), pathOf(path)), 'symlink', target, path); },
  linkSync(from, to) { check(sys.link(pathOf(from, 'existingPath'), pathOf(to, 'newPath')), 'link', from, to); },
  readlinkSync(path) { return check(sys.readlink(pathOf(path)), 'readlink', path)[0]; },
  realpathSync(path) { return check(sys.realpath(pathOf(path)), 'lstat', require('path').resolve(path))[0]; },
  chmodSync(path, mode) { check(sys.chmod(pathOf(path), typeof mode === 'string' ? parseInt(mode, 8) : mode), 'chmod', path); },
  chownSync() {},
  utimesSync(path, _atime, mtime) {
    const ms = mtime instanceof Date ? mtime.getTime() : Number(mtime) * 1000;
    check(sys.utimes(pathOf(path), ms), 'utime', path);
  },
  truncateSync(path, length = 0) {
    if (typeof path === 'number') path = entry(path, 'ftruncate').path;
    check(sys.truncate(pathOf(path), length), 'open', path);
  },
  ftruncateSync(fd, length = 0) { check(sys.truncate(entry(fd, 'ftruncate').path, length), 'ftruncate'); },

  openSync(path, flags = 'r', mode) {
    path = pathOf(path);
    const wants = flagsOf(flags), found = sys.stat(path, true);
    if (typeof found === 'string') {
      if (found !== 'ENOENT' || !wants.create) throw errno(found, 'open', path);
      put(path, '', 'utf8', mode);
    } else if (wants.fresh) throw errno('EEXIST', 'open', path);
    else if (found[0] === 'dir' && wants.write) throw errno('EISDIR', 'open', path);
    else if (wants.cut) put(path, '', 'utf8');
    const full = require('path').resolve(path);
    open.set(nextFd, { path: full, at: 0, ...wants });
    return nextFd++;
  },
  closeSync(fd) {
    if (fd >= 0 && fd <= 2) return;
    entry(fd, 'close');
    open.delete(fd);
  },
  readSync(fd, buffer, offset, length, position) {
    if (offset !== null && typeof offset === 'object') ({ offset, length, position } = offset);
    offset ??= 0;
    length ??= buffer.byteLength - offset;
    const target = new Uint8Array(buffer.buffer, buffer.byteOffset + offset, length);
    let part;
    if (fd === 0) part = takeStdin(length);
    else {
      const it = entry(fd, 'read');
      const at = typeof position === 'number' || typeof position === 'bigint' ? Number(position) : it.at;
      part = new Uint8Array(check(sys.readAt(it.path, at, length), 'read'));
      if (at === it.at && (position === null || position === undefined)) it.at += part.length;
    }
    target.set(part);
    return part.length;
  },
  writeSync(fd, data, offset, length, position) {
    let bytes;
    if (typeof data === 'string') {
      bytes = new Uint8Array(sys.encode(data, encoding(length)));
      position = offset;
    } else {
      if (offset !== null && typeof offset === 'object') ({ offset, length, position } = offset);
      offset ??= 0;
      bytes = new Uint8Array(data.buffer, data.byteOffset + offset, length ?? data.byteLength - offset);
    }
    if (fd === 1 || fd === 2) { sys.print(fd, bytes); return bytes.length; }
    const it = entry(fd, 'write');
    if (!it.write) throw errno('EBADF', 'write');
    if (it.append) check(sys.append(it.path, bytes), 'write');
    else {
      const here = typeof position === 'number' ? position : it.at;
      check(sys.writeAt(it.path, here, bytes), 'write');
      if (typeof position !== 'number') it.at += bytes.length;
    }
    return bytes.length;
  },
  fsyncSync(fd) { entry(fd, 'fsync'); },
  opendirSync(path) {
    const list = fs.readdirSync(path, { withFileTypes: true });
    return { path, readSync: () => list.shift() ?? null, closeSync() {}, async read() { return list.shift() ?? null; }, async close() {}, async *[Symbol.asyncIterator]() { yield* list; } };
  },

  createReadStream(path, options) {
    const { encoding: name, start = 0, end = Infinity, highWaterMark = 65536 } = optionsOf(options);
    const { Readable } = require('stream');
    let at = start, fd;
    const stream = new Readable({
      encoding: name, highWaterMark,
      read() {
        try {
          if (fd === undefined) { fd = fs.openSync(path, 'r'); this.fd = fd; this.emit('open', fd); this.emit('ready'); }
          const buffer = Buffer.alloc(Math.max(0, Math.min(highWaterMark, end - at + 1)));
          const read = buffer.length === 0 ? 0 : fs.readSync(fd, buffer, 0, buffer.length, at);
          at += read;
          this.bytesRead += read;
          if (read === 0) { fs.closeSync(fd); this.push(null); } else this.push(buffer.subarray(0, read));
        } catch (error) { this.destroy(error); }
      },
    });
    stream.path = path;
    stream.bytesRead = 0;
    later(() => { if (!stream.destroyed && fd === undefined) { try { fd = fs.openSync(path, 'r'); stream.fd = fd; stream.emit('open', fd); stream.emit('ready'); } catch (error) { stream.destroy(error); } } });
    return stream;
  },
  createWriteStream(path, options) {
    const { encoding: name, flags = 'w', start } = optionsOf(options);
    const { Writable } = require('stream');
    let fd, failed;
    try { fd = fs.openSync(path, flags); if (start) open.get(fd).at = start; } catch (error) { failed = error; }
    const stream = new Writable({
      decodeStrings: true, defaultEncoding: name,
      write(chunk, _encoding, done) {
        if (failed) { done(failed); return; }
        try { fs.writeSync(fd, chunk); stream.bytesWritten += chunk.length; done(); } catch (error) { done(error); }
      },
      final(done) { if (fd !== undefined) fs.closeSync(fd); done(); },
    });
    stream.path = path;
    stream.bytesWritten = 0;
    later(() => { if (failed) stream.destroy(failed); else { stream.emit('open', fd); stream.emit('ready'); } });
    return stream;
  },
  watch() { throw coded(Error, 'ERR_FEATURE_UNAVAILABLE_ON_PLATFORM', 'fs.watch is not available in a sandbox: nobody else changes its files while a script runs'); },
  Stats, Dirent,
  constants: { F_OK: 0, R_OK: 4, W_OK: 2, X_OK: 1, COPYFILE_EXCL: 1, COPYFILE_FICLONE: 2, COPYFILE_FICLONE_FORCE: 4, O_RDONLY: 0, O_WRONLY: 1, O_RDWR: 2, O_CREAT: 0o100, O_EXCL: 0o200, O_TRUNC: 0o1000, O_APPEND: 0o2000, S_IFMT, S_IFREG: KINDS.file, S_IFDIR: KINDS.dir, S_IFLNK: KINDS.link },
};
fs.watchFile = fs.watch;
Object.assign(fs, { F_OK: 0, R_OK: 4, W_OK: 2, X_OK: 1 });
fs.realpathSync.native = fs.realpathSync;

function look(path, options, follow, syscall) {
  path = pathOf(path);
  const found = sys.stat(path, follow);
  if (typeof found !== 'string') return stats(found, options);
  if (options && options.throwIfNoEntry === false && (found === 'ENOENT' || found === 'ENOTDIR')) return undefined;
  throw errno(found, syscall, path);
}

let taken = 0;
function takeStdin(length) {
  const all = new Uint8Array(sys.stdin()), part = all.subarray(taken, taken + length);
  taken += part.length;
  return part;
}

function readFd(fd, name) {
  let buffer;
  if (fd === 0) buffer = Buffer.from(takeStdin(Infinity));
  else {
    const it = entry(fd, 'read');
    const rest = new Uint8Array(check(sys.readAt(it.path, it.at, 2 ** 40), 'read'));
    it.at += rest.length;
    buffer = Buffer.from(rest);
  }
  return name ? buffer.toString(name) : buffer;
}

// The other two forms of every call.
const promises = { constants: fs.constants };
for (const name of Object.keys(fs).filter((name) => name.endsWith('Sync') && name !== 'existsSync')) {
  const short = name.slice(0, -4), call = fs[name];
  const named = (f) => Object.defineProperty(f, 'name', { value: short });
  fs[short] = named(function (...args) {
    const done = args.pop();
    if (typeof done !== 'function') throw argType('cb', 'of type function', done);
    const buffer = args[1];
    let error = null, result;
    try { result = call(...args); } catch (thrown) {
      if (thrown instanceof TypeError) throw thrown;
      error = thrown;
    }
    if (error !== null) later(() => done(error));
    else if (short === 'read' || short === 'write') later(() => done(null, result, buffer));
    else if (result === undefined) later(() => done(null));
    else later(() => done(null, result));
  });
  promises[short] = named((...args) => new Promise((resolve, reject) => {
    let error, result, failed = false;
    try { result = call(...args); } catch (thrown) { error = thrown; failed = true; }
    later(() => failed ? reject(error) : resolve(result));
  }));
}
fs.exists = (path, done) => { const there = fs.existsSync(path); later(() => done(there)); };

class FileHandle {
  constructor(fd) { this.fd = fd; }
  async read(buffer, ...rest) { return { bytesRead: fs.readSync(this.fd, buffer, ...rest), buffer }; }
  async write(data, ...rest) { return { bytesWritten: fs.writeSync(this.fd, data, ...rest), buffer: data }; }
  async readFile(options) { return readFd(this.fd, optionsOf(options).encoding); }
  async writeFile(data) { fs.writeSync(this.fd, data); }
  async appendFile(data) { fs.writeSync(this.fd, data); }
  async stat(options) { return fs.fstatSync(this.fd, options); }
  async truncate(length) { fs.ftruncateSync(this.fd, length); }
  async sync() {}
  async close() { fs.closeSync(this.fd); }
  async *readLines() { yield* readFd(this.fd, 'utf8').replace(/\n$/, '').split('\n'); }
  createReadStream(options) { return fs.createReadStream(entry(this.fd, 'read').path, options); }
  createWriteStream(options) { return fs.createWriteStream(entry(this.fd, 'write').path, { ...options, flags: 'a' }); }
}
const plainOpen = promises.open;
promises.open = async (...args) => new FileHandle(await plainOpen(...args));
fs.promises = promises;
module.exports = fs;
