// `string_decoder`.
const { Buffer, encoding, incomplete } = require('buffer');

class StringDecoder {
  constructor(name) { this.encoding = encoding(name); this.rest = Buffer.alloc(0); }
  write(chunk) {
    const all = this.rest.length > 0 ? Buffer.concat([this.rest, chunk]) : Buffer.from(chunk);
    const keep = this.encoding === 'utf8' ? incomplete(all) : this.encoding === 'utf16le' ? all.length % 2 : this.encoding.startsWith('base64') ? all.length % 3 : 0;
    this.rest = Buffer.from(all.subarray(all.length - keep));
    return all.subarray(0, all.length - keep).toString(this.encoding);
  }
  end(chunk) {
    const text = (chunk ? this.write(chunk) : '') + (this.rest.length > 0 ? this.rest.toString(this.encoding) : '');
    this.rest = Buffer.alloc(0);
    return text;
  }
}
module.exports = { StringDecoder };
