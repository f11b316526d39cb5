//! Packs: many objects in one file, some as changes of others, and the index beside it.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use bytes::Bytes;

use super::delta;
use super::failed::{Done, fatal};
use super::inflate::inflate;
use super::object::Kind;
use super::oid::{Oid, sha1};

/// Longest chain of changes. git itself writes at most 4095.
const DEEPEST: usize = 4096;
/// Bytes of objects that are kept as bases of others.
const KEPT: usize = 16 << 20;

/// Objects by their place in the pack.
#[derive(Default)]
pub(super) struct Cache {
    held: BTreeMap<usize, (Kind, Arc<Vec<u8>>)>,
    bytes: usize,
}

impl Cache {
    fn put(&mut self, at: usize, kind: Kind, data: &Arc<Vec<u8>>) {
        if self.bytes + data.len() > KEPT {
            self.held.clear();
            self.bytes = 0;
        }
        if data.len() <= KEPT && self.held.insert(at, (kind, data.clone())).is_none() {
            self.bytes += data.len();
        }
    }
}

/// What an object in a pack is written as a change of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Base {
    None(Kind),
    At(usize),
    Of(Oid),
}

/// The head of an object in a pack.
#[derive(Clone, Copy, Debug)]
pub(super) struct Head {
    pub(super) base: Base,
    /// Bytes of what is packed: the object, or the change.
    pub(super) size: u64,
    /// Where the packed bytes begin.
    pub(super) body: usize,
}

/// Reads the head at `start`.
pub(super) fn head(data: &[u8], start: usize) -> Done<Head> {
    let bad = || fatal("corrupt pack: an object's head");
    let mut at = start;
    let mut next = || {
        let byte = data.get(at).copied();
        at += 1;
        byte.ok_or_else(bad)
    };
    let mut byte = next()?;
    let code = byte >> 4 & 7;
    let (mut size, mut shift) = (u64::from(byte & 15), 4);
    while byte & 0x80 != 0 {
        byte = next()?;
        if shift > 56 {
            return Err(bad());
        }
        size |= u64::from(byte & 0x7f) << shift;
        shift += 7;
    }
    let base = match code {
        1 => Base::None(Kind::Commit),
        2 => Base::None(Kind::Tree),
        3 => Base::None(Kind::Blob),
        4 => Base::None(Kind::Tag),
        6 => {
            let mut byte = next()?;
            let mut back = usize::from(byte & 0x7f);
            while byte & 0x80 != 0 {
                byte = next()?;
                back = back.checked_add(1).and_then(|back| back.checked_mul(128)).ok_or_else(bad)?;
                back += usize::from(byte & 0x7f);
            }
            // Only what stands before it: so there are no rings.
            Base::At(start.checked_sub(back).filter(|_| back > 0).ok_or_else(bad)?)
        }
        7 => {
            let oid = data.get(at..at + 20).and_then(Oid::from_bytes).ok_or_else(bad)?;
            at += 20;
            Base::Of(oid)
        }
        _ => return Err(bad()),
    };
    Ok(Head { base, size, body: at })
}

/// The object at `start`. Changes are unpacked one at a time, and a chain has an end.
pub(super) fn resolve(
    data: &[u8],
    cache: &mut Cache,
    start: usize,
    find: &dyn Fn(&Oid) -> Option<usize>,
    longest: u64,
) -> Done<(Kind, Arc<Vec<u8>>)> {
    let (mut chain, mut at) = (Vec::new(), start);
    let (kind, mut object) = loop {
        if let Some((kind, held)) = cache.held.get(&at) {
            break (*kind, held.clone());
        }
        let head = head(data, at)?;
        if let Base::None(kind) = head.base {
            let object = Arc::new(inflate(&data[head.body.min(data.len())..], head.size, longest)?.0);
            cache.put(at, kind, &object);
            break (kind, object);
        }
        chain.push((at, head));
        if chain.len() > DEEPEST {
            return Err(fatal("corrupt pack: a chain of deltas that is too long, or a ring"));
        }
        at = match head.base {
            Base::At(base) => base,
            Base::Of(oid) => find(&oid).ok_or_else(|| fatal(format!("corrupt pack: no base {oid}")))?,
            Base::None(_) => at,
        };
    };
    while let Some((at, head)) = chain.pop() {
        let change = inflate(&data[head.body.min(data.len())..], head.size, longest)?.0;
        object = Arc::new(delta::apply(&object, &change, longest)?);
        cache.put(at, kind, &object);
    }
    Ok((kind, object))
}

/// A pack and its index.
pub(super) struct Pack {
    index: Bytes,
    data: Bytes,
    count: usize,
    cache: Mutex<Cache>,
}

/// Bytes before the names in an index.
const NAMES: usize = 8 + 256 * 4;

fn word(bytes: &[u8], at: usize) -> usize {
    bytes.get(at..at + 4).map_or(0, |four| u32::from_be_bytes([four[0], four[1], four[2], four[3]]) as usize)
}

impl Pack {
    /// Takes both files; the index must fit its own counts.
    pub(super) fn new(index: Bytes, data: Bytes) -> Done<Self> {
        let bad = || fatal("corrupt index of a pack, or one of an old version");
        if index.len() < NAMES + 40 || !index.starts_with(b"\xfftOc\0\0\0\x02") {
            return Err(bad());
        }
        let fan: Vec<usize> = (0..256).map(|byte| word(&index, 8 + byte * 4)).collect();
        let count = fan[255];
        if fan.windows(2).any(|pair| pair[0] > pair[1]) || index.len() - NAMES - 40 < count * 28 {
            return Err(bad());
        }
        if data.len() < 32 || !data.starts_with(b"PACK") {
            return Err(fatal("corrupt pack"));
        }
        Ok(Self { index, data, count, cache: Mutex::default() })
    }

    /// How many objects there are.
    pub(super) fn count(&self) -> usize {
        self.count
    }

    fn name(&self, number: usize) -> &[u8] {
        &self.index[NAMES + number * 20..][..20]
    }

    /// The names from the first that is not before `from`.
    pub(super) fn names_from(&self, from: &Oid) -> impl Iterator<Item = Oid> + '_ {
        let byte = usize::from(from.0[0]);
        let (mut low, mut high) =
            (if byte == 0 { 0 } else { word(&self.index, 8 + (byte - 1) * 4) }, self.count);
        while low < high {
            let middle = usize::midpoint(low, high);
            if self.name(middle) < &from.0[..] { low = middle + 1 } else { high = middle }
        }
        (low..self.count).filter_map(|number| Oid::from_bytes(self.name(number)))
    }

    /// Where an object is.
    pub(super) fn find(&self, oid: &Oid) -> Option<usize> {
        let (mut low, mut high) = (0, self.count);
        while low < high {
            let middle = usize::midpoint(low, high);
            if self.name(middle) < &oid.0[..] { low = middle + 1 } else { high = middle }
        }
        if low == self.count || self.name(low) != oid.0 {
            return None;
        }
        let places = NAMES + self.count * 24;
        let place = word(&self.index, places + low * 4);
        if place & 0x8000_0000 == 0 {
            return Some(place);
        }
        let far = places + self.count * 4 + (place & 0x7fff_ffff) * 8;
        self.index.get(far..far + 8)?;
        Some(word(&self.index, far) << 32 | word(&self.index, far + 4))
    }

    /// The object at a place.
    pub(super) fn read(&self, place: usize, longest: u64) -> Done<(Kind, Arc<Vec<u8>>)> {
        let mut cache = self.cache.lock().unwrap_or_else(PoisonError::into_inner);
        resolve(&self.data, &mut cache, place, &|oid| self.find(oid), longest)
    }
}

/// Writes a pack of whole objects.
pub(super) struct Writer {
    out: Vec<u8>,
    count: u32,
    longest: u64,
}

impl Writer {
    /// An empty one, of at most `longest` bytes.
    pub(super) fn new(longest: u64) -> Self {
        Self { out: b"PACK\0\0\0\x02\0\0\0\0".to_vec(), count: 0, longest }
    }

    /// Adds an object.
    pub(super) fn add(&mut self, kind: Kind, data: &[u8]) -> Done {
        let code = match kind {
            Kind::Commit => 1,
            Kind::Tree => 2,
            Kind::Blob => 3,
            Kind::Tag => 4,
        };
        let mut size = data.len() >> 4;
        let mut byte = code << 4 | (data.len() & 15) as u8;
        while size > 0 {
            self.out.push(byte | 0x80);
            byte = (size & 0x7f) as u8;
            size >>= 7;
        }
        self.out.push(byte);
        self.out.extend(super::inflate::deflate(data));
        self.count += 1;
        if self.out.len() as u64 > self.longest {
            return Err(fatal(format!(
                "a pack of more than {} bytes is larger than a file may be",
                self.longest
            )));
        }
        Ok(())
    }

    /// The pack, and how many objects are in it.
    pub(super) fn finish(mut self) -> (Vec<u8>, u32) {
        self.out[8..12].copy_from_slice(&self.count.to_be_bytes());
        let sum = sha1(&self.out);
        self.out.extend_from_slice(&sum);
        (self.out, self.count)
    }
}
