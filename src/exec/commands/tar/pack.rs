//! What is around an archive.

use std::io::{self, Read, Write as _};

use bzip2::read::MultiBzDecoder;
use bzip2::write::BzEncoder;
use flate2::read::MultiGzDecoder;
use flate2::{Compression, GzBuilder};
use lzma_rust2::XzReader;

use crate::exec::commands::xz;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Packing {
    None,
    Gzip,
    Xz,
    Bzip2,
}

impl Packing {
    /// By the ending of an archive's name.
    pub(super) fn of_name(name: &str) -> Self {
        let ends = |endings: &[&str]| endings.iter().any(|ending| name.ends_with(ending));
        if ends(&[".gz", ".tgz", ".taz"]) {
            Self::Gzip
        } else if ends(&[".xz", ".txz"]) {
            Self::Xz
        } else if ends(&[".bz2", ".tbz", ".tbz2"]) {
            Self::Bzip2
        } else {
            Self::None
        }
    }

    /// By the first bytes of an archive.
    pub(super) fn of_data(data: &[u8]) -> Self {
        if data.starts_with(&[0x1f, 0x8b]) {
            Self::Gzip
        } else if data.starts_with(b"\xfd7zXZ\0") {
            Self::Xz
        } else if data.starts_with(b"BZh") {
            Self::Bzip2
        } else {
            Self::None
        }
    }

    pub(super) fn pack(self, data: Vec<u8>) -> io::Result<Vec<u8>> {
        match self {
            Self::None => Ok(data),
            Self::Gzip => {
                let mut writer =
                    GzBuilder::new().operating_system(3).write(Vec::new(), Compression::default());
                writer.write_all(&data)?;
                writer.finish()
            }
            Self::Xz => xz::packed(&data, 6),
            Self::Bzip2 => {
                let mut writer = BzEncoder::new(Vec::new(), bzip2::Compression::best());
                writer.write_all(&data)?;
                writer.finish()
            }
        }
    }

    /// The archive inside, as it is read.
    pub(super) fn unpack(self, data: &[u8]) -> Box<dyn Read + '_> {
        match self {
            Self::None => Box::new(data),
            Self::Gzip => Box::new(MultiGzDecoder::new(data)),
            Self::Xz => Box::new(XzReader::new_mem_limit(data, true, xz::UNPACK_KIB)),
            Self::Bzip2 => Box::new(MultiBzDecoder::new(data)),
        }
    }
}
