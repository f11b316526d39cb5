cat > a.js <<'JS'
const b = Buffer.from('héllo wörld');
console.log(b, b.length, b.toString('hex'), b.toString('base64'), b.toString('latin1'), b.toString('utf8', 0, 3));
console.log(Buffer.from('aGk=', 'base64').toString(), Buffer.from('00ff', 'hex'), Buffer.alloc(3), Buffer.alloc(3, 'ab'), Buffer.concat([Buffer.from('a'), Buffer.from('b')]));
console.log(b.slice(0, 2), b.subarray(1, 3), b.indexOf('wör'), b.includes('zzz'), Buffer.compare(Buffer.from('a'), Buffer.from('b')), b.equals(Buffer.from('héllo wörld')), Buffer.isBuffer(b), Buffer.byteLength('é'));
const w = Buffer.alloc(16); w.writeUInt32BE(0xdeadbeef, 0); w.writeInt16LE(-2, 4); w.writeDoubleLE(1.5, 8); console.log(w, w.readUInt32BE(0).toString(16), w.readInt16LE(4), w.readDoubleLE(8), w.readUInt8(1), w.readUIntBE(0, 3));
console.log(JSON.stringify(Buffer.from('ab')), [...Buffer.from('ab')], Buffer.from([1, 2, 300]), Buffer.from(new Uint8Array([1, 2]).buffer), b.toString('base64url'), Buffer.from('ÿ', 'latin1'));
console.log(new TextEncoder().encode('é'), new TextDecoder().decode(new Uint8Array([0xc3, 0xa9])), btoa('hi'), atob('aGk='), { b: Buffer.from('x'.repeat(60)) }, new Uint8Array([1, 2, 3]).map((x) => x * 2));
console.log(Buffer.from('test').fill('x').toString(), b.copy(w, 0, 0, 3), w.toString('utf8', 0, 3), Buffer.from('abc').reverse().toString(), b.at(-1), Buffer.from('a').toString('utf16le'), Buffer.from('ab', 'utf16le'));
JS
node a.js
