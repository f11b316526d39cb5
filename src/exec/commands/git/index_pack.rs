//! A pack that came from elsewhere: every object is unpacked once, and its index made.

use std::collections::BTreeMap;

use flate2::Crc;

use super::failed::{Done, fatal};
use super::inflate::inflate;
use super::oid::{Oid, sha1};
use super::pack::{Base, Cache, head, resolve};

/// An object in it.
struct Found {
    at: usize,
    crc: u32,
    oid: Option<Oid>,
}

/// Checks a pack and gives its index and its name. `over` tells that the script is being
/// ended.
pub(super) fn index(data: &[u8], longest: u64, over: &dyn Fn() -> bool) -> Done<(Vec<u8>, String)> {
    let bad = |what: &str| fatal(format!("corrupt pack: {what}"));
    if data.len() < 32 || !data.starts_with(b"PACK") {
        return Err(bad("it does not begin as one"));
    }
    if data[4..8] != [0, 0, 0, 2] && data[4..8] != [0, 0, 0, 3] {
        return Err(bad("an unknown version"));
    }
    let count = u32::from_be_bytes([data[8], data[9], data[10], data[11]]);
    let body = &data[..data.len() - 20];
    if sha1(body) != data[body.len()..] {
        return Err(bad("its checksum is another"));
    }
    let (mut found, mut at) = (Vec::new(), 12);
    for _ in 0..count {
        if over() {
            return Err(fatal("interrupted"));
        }
        let head = head(body, at)?;
        let rest = body.get(head.body..).ok_or_else(|| bad("it ends early"))?;
        let (object, packed) = inflate(rest, head.size, longest)?;
        let mut crc = Crc::new();
        crc.update(&body[at..head.body + packed]);
        let oid = match head.base {
            Base::None(kind) => Some(Oid::of(kind, &object)),
            Base::At(_) | Base::Of(_) => None,
        };
        found.push(Found { at, crc: crc.sum(), oid });
        at = head.body + packed;
    }
    if at != body.len() {
        return Err(bad("there is more in it than it says"));
    }
    let mut places: BTreeMap<Oid, usize> =
        found.iter().filter_map(|found| Some((found.oid?, found.at))).collect();
    let mut cache = Cache::default();
    // A base that is named may stand behind what is made of it: so there may be several rounds.
    loop {
        let (mut left, mut made) = (0, 0);
        for object in found.iter_mut().filter(|object| object.oid.is_none()) {
            if over() {
                return Err(fatal("interrupted"));
            }
            if let Base::Of(base) = head(body, object.at)?.base
                && !places.contains_key(&base)
            {
                left += 1;
                continue;
            }
            let (kind, bytes) =
                resolve(body, &mut cache, object.at, &|oid| places.get(oid).copied(), longest)?;
            let oid = Oid::of(kind, &bytes);
            object.oid = Some(oid);
            places.insert(oid, object.at);
            made += 1;
        }
        if left == 0 {
            break;
        }
        if made == 0 {
            return Err(bad("bases of deltas are not there"));
        }
    }
    Ok((
        written(&found, &data[body.len()..]),
        Oid::from_bytes(&data[body.len()..]).unwrap_or_default().to_string(),
    ))
}

fn written(found: &[Found], sum: &[u8]) -> Vec<u8> {
    let mut sorted: Vec<(Oid, &Found)> = found.iter().filter_map(|found| Some((found.oid?, found))).collect();
    sorted.sort_by_key(|(oid, found)| (*oid, found.at));
    let mut out = b"\xfftOc\0\0\0\x02".to_vec();
    let mut below = 0u32;
    for byte in 0..=255u8 {
        below += sorted[below as usize..].iter().take_while(|(oid, _)| oid.0[0] == byte).count() as u32;
        out.extend_from_slice(&below.to_be_bytes());
    }
    sorted.iter().for_each(|(oid, _)| out.extend_from_slice(&oid.0));
    sorted.iter().for_each(|(_, found)| out.extend_from_slice(&found.crc.to_be_bytes()));
    // No file here is so large that a place needs more than 31 bits.
    sorted.iter().for_each(|(_, found)| out.extend_from_slice(&(found.at as u32).to_be_bytes()));
    out.extend_from_slice(sum);
    let own = sha1(&out);
    out.extend_from_slice(&own);
    out
}
