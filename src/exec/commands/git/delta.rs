//! Objects that are written as changes of others.

use super::failed::{Done, fatal};

/// A number of seven bits a byte, least first.
fn number(delta: &[u8], at: &mut usize) -> Option<u64> {
    let (mut value, mut shift) = (0u64, 0);
    loop {
        let byte = *delta.get(*at)?;
        *at += 1;
        value |= u64::from(byte & 0x7f).checked_shl(shift)?;
        shift += 7;
        if byte & 0x80 == 0 {
            return Some(value);
        }
        if shift > 56 {
            return None;
        }
    }
}

/// Makes the object. The size that the delta promises is asked first, and kept.
pub(super) fn apply(base: &[u8], delta: &[u8], longest: u64) -> Done<Vec<u8>> {
    let bad = || fatal("corrupt delta in a pack");
    let mut at = 0;
    let from = number(delta, &mut at).ok_or_else(bad)?;
    let to = number(delta, &mut at).ok_or_else(bad)?;
    if from != base.len() as u64 {
        return Err(bad());
    }
    if to > longest {
        return Err(fatal(format!("an object of {to} bytes is larger than a file may be ({longest})")));
    }
    let to = to as usize;
    // Nothing is reserved on its word alone.
    let mut out = Vec::with_capacity(to.min(base.len().saturating_mul(2).max(1 << 16)));
    while let Some(&op) = delta.get(at) {
        at += 1;
        let piece = if op & 0x80 != 0 {
            let mut part = |bits: std::ops::Range<u32>| -> Done<usize> {
                let mut value = 0;
                for (place, bit) in bits.enumerate() {
                    if op >> bit & 1 == 1 {
                        value |= usize::from(*delta.get(at).ok_or_else(bad)?) << (8 * place);
                        at += 1;
                    }
                }
                Ok(value)
            };
            let offset = part(0..4)?;
            let size = match part(4..7)? {
                0 => 0x10000,
                size => size,
            };
            base.get(offset..offset.checked_add(size).ok_or_else(bad)?).ok_or_else(bad)?
        } else {
            let size = usize::from(op);
            if size == 0 {
                return Err(bad());
            }
            let piece = delta.get(at..at + size).ok_or_else(bad)?;
            at += size;
            piece
        };
        if out.len() + piece.len() > to {
            return Err(bad());
        }
        out.extend_from_slice(piece);
    }
    if out.len() == to { Ok(out) } else { Err(bad()) }
}

#[cfg(test)]
mod tests {
    use super::apply;

    #[test]
    fn lies_are_refused() {
        // Base of 5, result of 7: all of the base, then two bytes.
        let good = [5, 7, 0x90, 5, 2, b'x', b'y'];
        assert_eq!(apply(b"hello", &good, 100).unwrap(), b"helloxy");
        assert!(apply(b"hell", &good, 100).is_err(), "another base");
        assert!(apply(b"hello", &good, 6).is_err(), "larger than may be");
        for bad in [
            &[5, 8, 0x90, 5, 2, b'x', b'y'][..],
            &[5, 6, 0x90, 5, 2, b'x', b'y'],
            &[5, 7, 0x90, 6, 1, b'x'],
            &[5, 7, 0x91, 0xff, 5],
            &[5, 7, 0x90, 5, 2, b'x'],
            &[5, 7, 0],
            &[5],
            &[0xff; 12],
        ] {
            assert!(apply(b"hello", bad, 100).is_err(), "{bad:?}");
        }
    }
}
