// `zlib`: whole buffers at once.
const { Buffer } = require('buffer');
const { later } = require('loop');

const calls = {};
for (const [name, kind] of Object.entries({ gzip: 'gzip', gunzip: 'gunzip', deflate: 'zlib', inflate: 'unzlib', deflateRaw: 'deflate', inflateRaw: 'inflate', unzip: 'gunzip' })) {
  const sync = (data, options = {}) => {
    const out = sys.compress(kind, Buffer.from(data), options.level ?? 6);
    if (typeof out !== 'string') return Buffer.from(out);
    const error = new Error(out);
    error.errno = -3;
    error.code = 'Z_DATA_ERROR';
    throw error;
  };
  calls[`${name}Sync`] = sync;
  calls[name] = (data, options, done = options) => {
    let error = null, out;
    try { out = sync(data, typeof options === 'object' ? options : {}); } catch (thrown) { error = thrown; }
    later(() => error ? done(error) : done(null, out));
  };
  const create = 'create' + name[0].toUpperCase() + name.slice(1);
  calls[create] = (options) => {
    const parts = [];
    return new (require('stream').Transform)({
      transform(chunk, _name, done) { parts.push(chunk); done(); },
      flush(done) { try { this.push(sync(Buffer.concat(parts), options)); done(); } catch (error) { done(error); } },
    });
  };
}
module.exports = { ...calls, constants: { Z_BEST_COMPRESSION: 9, Z_BEST_SPEED: 1, Z_DEFAULT_COMPRESSION: -1, Z_NO_COMPRESSION: 0 } };
