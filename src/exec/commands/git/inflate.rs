//! zlib, with the size told before: what unpacks to another one is refused at once.

use std::io::Write as _;

use flate2::write::ZlibEncoder;
use flate2::{Compression, Decompress, FlushDecompress, Status};

use super::failed::{Done, fatal};

/// Reserved at once, whatever size was promised.
const STEP: usize = 64 << 10;

/// Unpacks exactly `size` bytes; also tells how many packed bytes they were.
pub(super) fn inflate(data: &[u8], size: u64, longest: u64) -> Done<(Vec<u8>, usize)> {
    let bad = || fatal("corrupt packed data in an object");
    if size > longest {
        return Err(fatal(format!("an object of {size} bytes is larger than a file may be ({longest})")));
    }
    let size = size as usize;
    let mut unpack = Decompress::new(true);
    let mut out = Vec::with_capacity((size + 1).min(STEP));
    loop {
        if out.len() == out.capacity() {
            out.reserve((size + 1 - out.len()).min(STEP.max(out.len())));
        }
        let (taken, held) = (unpack.total_in() as usize, out.len());
        let status =
            unpack.decompress_vec(&data[taken..], &mut out, FlushDecompress::None).map_err(|_| bad())?;
        if out.len() > size {
            return Err(bad());
        }
        match status {
            Status::StreamEnd => break,
            Status::Ok | Status::BufError => {
                if unpack.total_in() as usize == taken && out.len() == held {
                    return Err(bad());
                }
            }
        }
    }
    if out.len() == size { Ok((out, unpack.total_in() as usize)) } else { Err(bad()) }
}

/// The first bytes of packed data, at most 64.
pub(super) fn head(data: &[u8]) -> Done<Vec<u8>> {
    let mut out = Vec::with_capacity(64);
    Decompress::new(true)
        .decompress_vec(data, &mut out, FlushDecompress::None)
        .map_err(|_| fatal("corrupt packed data in an object"))?;
    Ok(out)
}

/// Packs.
pub(super) fn deflate(data: &[u8]) -> Vec<u8> {
    let mut packed = ZlibEncoder::new(Vec::new(), Compression::fast());
    // Writing to memory does not fail.
    let _ = packed.write_all(data);
    packed.finish().unwrap_or_default()
}
