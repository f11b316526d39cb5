// `querystring`.
const unescape = (text) => { try { return decodeURIComponent(text); } catch { return text; } };
const escape = (text) => encodeURIComponent(text).replace(/[!'()*]/g, (char) => ({ '!': '!', "'": "'", '(': '(', ')': ')', '*': '*' })[char]);

function parse(text, separator = '&', equals = '=') {
  const out = Object.create(null);
  if (typeof text !== 'string') return out;
  for (const part of text.split(separator)) {
    if (part === '') continue;
    const at = part.indexOf(equals);
    const [key, value] = (at === -1 ? [part, ''] : [part.slice(0, at), part.slice(at + equals.length)]).map((it) => unescape(it.replaceAll('+', ' ')));
    if (key in out) out[key] = [].concat(out[key], value); else out[key] = value;
  }
  return out;
}

const text = (value) => ['string', 'number', 'bigint', 'boolean'].includes(typeof value) ? String(value) : '';
function stringify(object, separator = '&', equals = '=') {
  return Object.entries(object ?? {}).flatMap(([key, value]) => [value].flat().map((item) => escape(key) + equals + escape(text(item)))).join(separator);
}
module.exports = { parse, stringify, decode: parse, encode: stringify, escape, unescape };
