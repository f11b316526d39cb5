// `crypto`: hashes, HMACs and random bytes.
const { Buffer, encoding } = require('buffer');
const { coded } = require('errors');
const BLOCK = { md5: 64, sha1: 64, sha224: 64, sha256: 64, sha384: 128, sha512: 128 };

const bytes = (data, name) => typeof data === 'string' ? Buffer.from(data, name) : data;

function known(name) {
  const short = String(name).toLowerCase().replace(/^sha-/, 'sha').replace(/^rsa-/, '');
  if (!(short in BLOCK)) {
    const error = coded(Error, 'ERR_OSSL_EVP_UNSUPPORTED', `Digest method not supported: this sandbox has ${Object.keys(BLOCK).join(', ')}`);
    throw error;
  }
  return short;
}

class Hash {
  #name; #parts = []; #done = false;
  constructor(name) { this.#name = known(name); }
  update(data, name) {
    if (this.#done) throw coded(Error, 'ERR_CRYPTO_HASH_FINALIZED', 'Digest already called');
    if (typeof data !== 'string' && !ArrayBuffer.isView(data)) throw require('errors').argType('data', 'of type string or an instance of Buffer, TypedArray, or DataView', data);
    this.#parts.push(Buffer.from(bytes(data, name)));
    return this;
  }
  digest(name) {
    if (this.#done) throw coded(Error, 'ERR_CRYPTO_HASH_FINALIZED', 'Digest already called');
    this.#done = true;
    const out = Buffer.from(sys.hash(this.#name, Buffer.concat(this.#parts)));
    return name ? out.toString(name) : out;
  }
  copy() { const it = new Hash(this.#name); it.#parts = [...this.#parts]; return it; }
}

class Hmac {
  #inner; #outer;
  constructor(name, key) {
    name = known(name);
    const size = BLOCK[name];
    key = Buffer.from(bytes(key));
    if (key.length > size) key = new Hash(name).update(key).digest();
    const block = Buffer.concat([key, Buffer.alloc(size - key.length)]);
    this.#inner = new Hash(name).update(block.map((byte) => byte ^ 0x36));
    this.#outer = new Hash(name).update(block.map((byte) => byte ^ 0x5c));
  }
  update(data, name) { this.#inner.update(data, name); return this; }
  digest(name) { return this.#outer.update(this.#inner.digest()).digest(name); }
}

const randomBytes = (size, done) => {
  const out = Buffer.from(sys.randomBytes(size));
  if (done) { require('loop').later(() => done(null, out)); return undefined; }
  return out;
};

function randomInt(low, high, done) {
  if (high === undefined || typeof high === 'function') { done = high; high = low; low = 0; }
  const range = high - low;
  if (!(range > 0 && range <= 2 ** 48)) throw coded(RangeError, 'ERR_OUT_OF_RANGE', `The value of "max" is out of range. It must be greater than the value of "min" (${low}). Received ${high}`);
  const limit = 2 ** 48 - (2 ** 48 % range);
  let value;
  do value = Buffer.from(sys.randomBytes(6)).readUIntBE(0, 6); while (value >= limit);
  value = low + (value % range);
  if (done) { require('loop').later(() => done(null, value)); return undefined; }
  return value;
}

function getRandomValues(target) {
  new Uint8Array(target.buffer, target.byteOffset, target.byteLength).set(new Uint8Array(sys.randomBytes(target.byteLength)));
  return target;
}

function randomUUID() {
  const hex = sys.randomBytes(16), it = new Uint8Array(hex);
  it[6] = (it[6] & 15) | 64; it[8] = (it[8] & 63) | 128;
  return Buffer.from(it).toString('hex').replace(/^(.{8})(.{4})(.{4})(.{4})/, '$1-$2-$3-$4-');
}

function timingSafeEqual(a, b) {
  if (a.byteLength !== b.byteLength) throw coded(RangeError, 'ERR_CRYPTO_TIMING_SAFE_EQUAL_LENGTH', 'Input buffers must have the same byte length');
  let different = 0;
  for (let i = 0; i < a.length; i++) different |= a[i] ^ b[i];
  return different === 0;
}

const webcrypto = { getRandomValues, randomUUID, subtle: { async digest(name, data) { return sys.hash(known(name.name ?? name), new Uint8Array(ArrayBuffer.isView(data) ? data.buffer.slice(data.byteOffset, data.byteOffset + data.byteLength) : data)); } } };
module.exports = {
  createHash: (name) => new Hash(name), createHmac: (name, key) => new Hmac(name, key), Hash, Hmac, randomBytes, randomInt, randomUUID, getRandomValues, timingSafeEqual, webcrypto,
  hash: (name, data, out = 'hex') => new Hash(name).update(data).digest(out), randomFillSync: getRandomValues, getHashes: () => Object.keys(BLOCK), subtle: webcrypto.subtle,
};
