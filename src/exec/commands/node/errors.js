// Errors with codes, as Node's own modules throw them.

// errno.h of Linux: name -> number and libuv's words.
const ERRNO = {
  EPERM: [1, 'operation not permitted'], ENOENT: [2, 'no such file or directory'], EIO: [5, 'i/o error'],
  EBADF: [9, 'bad file descriptor'], ENOMEM: [12, 'not enough memory'], EACCES: [13, 'permission denied'],
  EBUSY: [16, 'resource busy or locked'], EEXIST: [17, 'file already exists'], EXDEV: [18, 'cross-device link not permitted'],
  ENOTDIR: [20, 'not a directory'], EISDIR: [21, 'illegal operation on a directory'], EINVAL: [22, 'invalid argument'],
  EFBIG: [27, 'file too large'], ENOSPC: [28, 'no space left on device'], EROFS: [30, 'read-only file system'],
  EMLINK: [31, 'too many links'], ENAMETOOLONG: [36, 'name too long'], ENOTEMPTY: [39, 'directory not empty'],
  ELOOP: [40, 'too many symbolic links encountered'], EILSEQ: [84, 'illegal byte sequence'],
};

function errno(code, syscall, path, dest) {
  const [number, words] = ERRNO[code] ?? [5, 'i/o error'];
  let message = `${code}: ${words}, ${syscall}`;
  if (path !== undefined) message += ` '${path}'`;
  if (dest !== undefined) message += ` -> '${dest}'`;
  const error = new Error(message);
  error.errno = -number;
  error.code = code;
  error.syscall = syscall;
  if (path !== undefined) error.path = path;
  if (dest !== undefined) error.dest = dest;
  return error;
}

// An error whose stack names its code, and whose name does not.
function coded(Type, code, message) {
  const error = new Type(message);
  Object.defineProperty(error, 'code', { value: code, enumerable: true, writable: true, configurable: true });
  Object.defineProperty(error, 'name', { value: `${error.name} [${code}]`, enumerable: false, writable: true, configurable: true });
  Object.defineProperty(error, 'stack', { value: error.stack.replace(/^\w+/, `$& [${code}]`), writable: true, configurable: true, enumerable: false });
  delete error.name;
  return error;
}

function received(value) {
  if (value == null) return ` Received ${value}`;
  if (typeof value === 'function') return ` Received function ${value.name}`;
  if (typeof value === 'object') {
    if (value.constructor && value.constructor.name) return ` Received an instance of ${value.constructor.name}`;
    return ` Received ${require('inspect').inspect(value, { depth: -1 })}`;
  }
  let text = require('inspect').inspect(value, { colors: false });
  if (text.length > 28) text = text.slice(0, 25) + '...';
  return ` Received type ${typeof value} (${text})`;
}

const argType = (name, wanted, value) =>
  coded(TypeError, 'ERR_INVALID_ARG_TYPE', `The "${name}" argument must be ${wanted}.${received(value)}`);

module.exports = { errno, coded, argType, received, ERRNO };
