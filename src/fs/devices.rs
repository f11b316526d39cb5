//! The virtual `/dev`: a directory of devices that overlays resolution in a working
//! copy. It has no rows, so no walk, export or commit ever sees it. A real `/dev` in
//! the tree hides it.

use crate::fs::Errno;
use crate::fs::node::Kind;
use crate::fs::working_copy::Stat;
use crate::ids::Ino;

/// Inode numbers from here on are virtual. Stored numbers fit an `i64`, so they never
/// come near.
const FIRST: Ino = u64::MAX - 15;
/// The directory `/dev`.
pub(crate) const DEV_DIR: Ino = FIRST;

/// A virtual device.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Device {
    /// Reads as empty, takes everything.
    Null,
    /// Random bytes without end.
    Random,
    /// Standard error of the script.
    Stderr,
    /// Standard input of the script.
    Stdin,
    /// Standard output of the script.
    Stdout,
    /// Random bytes without end.
    Urandom,
    /// Zeros without end, takes everything.
    Zero,
}

/// Sorted by name.
pub(crate) const ALL: [(&str, Device); 7] = [
    ("null", Device::Null),
    ("random", Device::Random),
    ("stderr", Device::Stderr),
    ("stdin", Device::Stdin),
    ("stdout", Device::Stdout),
    ("urandom", Device::Urandom),
    ("zero", Device::Zero),
];

impl Device {
    pub(crate) fn ino(self) -> Ino {
        FIRST + 1 + self as Ino
    }

    /// The device behind a resolved inode number.
    pub(crate) fn from_ino(ino: Ino) -> Option<Self> {
        let index = usize::try_from(ino.checked_sub(FIRST + 1)?).ok()?;
        ALL.get(index).map(|(_, device)| *device)
    }

    /// `len` bytes of it. Devices without end must be asked for a length; the standard
    /// streams belong to the interpreter and cannot be read here (EINVAL).
    pub(crate) fn read(self, len: Option<u64>) -> Result<Vec<u8>, Errno> {
        let sized = |len: Option<u64>| usize::try_from(len.ok_or(Errno::EINVAL)?).map_err(|_| Errno::ENOMEM);
        match self {
            Self::Null => Ok(Vec::new()),
            Self::Zero => Ok(vec![0; sized(len)?]),
            Self::Random | Self::Urandom => {
                let mut data = vec![0; sized(len)?];
                getrandom::fill(&mut data).map_err(|_| Errno::EIO)?;
                Ok(data)
            }
            Self::Stdin | Self::Stdout | Self::Stderr => Err(Errno::EINVAL),
        }
    }
}

/// Whether a resolved number is virtual.
pub(crate) fn is_virtual(ino: Ino) -> bool {
    ino >= FIRST
}

/// The entry `name` of `/dev`.
pub(crate) fn child(name: &str) -> Option<Ino> {
    ALL.iter().find(|(known, _)| *known == name).map(|(_, device)| device.ino())
}

/// Kind and stat of a virtual number.
pub(crate) fn stat(ino: Ino) -> Stat {
    let (kind, mode, size, nlink) =
        if ino == DEV_DIR { (Kind::Dir, 0o755, 4096, 2) } else { (Kind::File, 0o666, 0, 1) };
    Stat { ino: 0, kind, mode, size, mtime_ns: 0, nlink }
}
