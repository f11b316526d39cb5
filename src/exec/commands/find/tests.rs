//! What an expression asks of an entry.

use std::cmp::Ordering;

use crate::exec::commands::glob::Pattern;
use crate::exec::commands::posix_regex::{GivenUp, Regex};
use crate::exec::commands::walk::{Entry, Follow, Walk};
use crate::fs::{Errno, Kind, Sight};
use crate::ids::Ino;

/// The letters of `-type`, as bits.
pub(super) const TYPES: &[(char, u8)] =
    &[('b', 1), ('c', 2), ('d', 4), ('p', 8), ('f', 16), ('l', 32), ('s', 64), ('D', 128)];

/// The user that owns all, and its group.
pub(super) const USER: u64 = 1000;
const DAY_NS: i128 = 86_400 * 1_000_000_000;

/// A number that is compared with: `+n`, `-n`, `n`.
#[derive(Clone, Copy, Debug)]
pub(super) struct Amount {
    pub(super) order: Ordering,
    pub(super) number: u64,
}

impl Amount {
    fn fits(self, value: u64) -> bool {
        value.cmp(&self.number) == self.order
    }
}

/// A time that is compared with.
#[derive(Clone, Copy, Debug)]
pub(super) struct Moment {
    pub(super) order: Ordering,
    pub(super) ns: i128,
    /// For [`Ordering::Equal`]: how much later it may be.
    pub(super) window: i128,
}

impl Moment {
    fn fits(self, ns: i64) -> bool {
        let ns = i128::from(ns);
        match self.order {
            Ordering::Equal => ns > self.ns && ns <= self.ns + self.window,
            order => ns.cmp(&self.ns) == order,
        }
    }

    /// `-mtime` (in days) and `-mmin`. `origin` is a day before now, or the start of today.
    pub(super) fn ago(order: Ordering, count: f64, minutes: bool, origin: i128) -> Self {
        let unit = if minutes { DAY_NS / 1440 } else { DAY_NS };
        let mut origin = if minutes { origin + DAY_NS } else { origin };
        // As GNU counts: what is younger than a number of days may be a second older.
        if !minutes && order == Ordering::Less {
            origin += DAY_NS - 1_000_000_000;
        }
        // The more days, the older.
        Self { order: order.reverse(), ns: origin - (count * unit as f64) as i128, window: unit }
    }
}

/// How the bits of `-perm` are compared.
#[derive(Clone, Copy, Debug)]
pub(super) enum Bits {
    Exactly,
    All,
    Any,
}

#[derive(Debug)]
pub(super) enum Test {
    Fixed(bool),
    Name(Pattern),
    Path(Pattern),
    Regex(Regex),
    Target(Pattern),
    Type(u8),
    TypeBehind(u8),
    /// In units of so many bytes.
    Size(Amount, u64),
    Empty,
    Time(Moment),
    Newer(i64),
    /// For directories other bits may be meant: `X`.
    Perm(Bits, u32, u32),
    Links(Amount),
    Inode(Amount),
    User(Amount),
    Same(Ino),
    Exists,
    Executable,
}

/// The letter of `-type` of what a number stands for.
pub(super) fn letter(kind: Kind, ino: Ino) -> char {
    match kind {
        Kind::File if Sight::is_device(ino) => 'c',
        Kind::File => 'f',
        Kind::Dir => 'd',
        Kind::Symlink => 'l',
    }
}

fn bit(letter: char) -> u8 {
    TYPES.iter().find(|(own, _)| *own == letter).map_or(0, |(_, bit)| *bit)
}

/// The letter of what is on the other side of a link.
pub(super) fn letter_behind(walk: &Walk, entry: &Entry) -> Result<char, Errno> {
    if let Some(link) = entry.link.filter(|_| walk.plan().follow == Follow::Always) {
        return Ok(letter(Kind::Symlink, link));
    }
    if entry.stat.kind != Kind::Symlink {
        return Ok(letter(entry.stat.kind, entry.ino));
    }
    let ino = walk.sight().find(&walk.absolute(entry), true)?;
    Ok(walk.sight().stat(ino).map_or('?', |stat| letter(stat.kind, ino)))
}

impl Test {
    /// `Err`: it cannot be told, which is no yes.
    pub(super) fn holds(&self, walk: &Walk, entry: &Entry) -> Result<bool, Errno> {
        let stat = &entry.stat;
        // What access(2) asks goes through links.
        let behind = || {
            if stat.kind != Kind::Symlink {
                return Some(*stat);
            }
            let ino = walk.sight().find(&walk.absolute(entry), true).ok()?;
            walk.sight().stat(ino)
        };
        Ok(match self {
            Self::Fixed(answer) => *answer,
            Self::Name(pattern) => pattern.matches(walk.name(entry)),
            Self::Path(pattern) => pattern.matches(walk.path(entry)),
            // What glibc says when it gives up.
            Self::Regex(regex) => {
                regex.is_match(walk.path(entry).as_bytes()).map_err(|GivenUp| Errno::ENOMEM)?
            }
            Self::Target(pattern) => {
                stat.kind == Kind::Symlink
                    && walk.sight().target(entry.ino).is_some_and(|target| pattern.matches(&target))
            }
            Self::Type(types) => bit(letter(stat.kind, entry.ino)) & types != 0,
            Self::TypeBehind(types) => match letter_behind(walk, entry) {
                Ok(letter) => bit(letter) & types != 0,
                Err(Errno::ENOENT | Errno::ENOTDIR) => bit('l') & types != 0,
                Err(errno) => return Err(errno),
            },
            Self::Size(amount, unit) => amount.fits(stat.size.div_ceil(*unit)),
            Self::Empty => match stat.kind {
                Kind::File => stat.size == 0 && !Sight::is_device(entry.ino),
                Kind::Dir => walk.sight().is_empty(entry.ino),
                Kind::Symlink => false,
            },
            Self::Time(moment) => moment.fits(stat.mtime_ns),
            Self::Newer(ns) => stat.mtime_ns > *ns,
            Self::Perm(bits, plain, dir) => {
                let wanted = if stat.kind == Kind::Dir { *dir } else { *plain };
                let mode = stat.mode & 0o7777;
                match bits {
                    Bits::Exactly => mode == wanted,
                    Bits::All => mode & wanted == wanted,
                    Bits::Any => wanted == 0 || mode & wanted != 0,
                }
            }
            Self::Links(amount) => amount.fits(u64::from(stat.nlink)),
            Self::Inode(amount) => amount.fits(stat.ino),
            Self::User(amount) => amount.fits(USER),
            Self::Same(ino) => entry.ino == *ino,
            Self::Exists => behind().is_some(),
            Self::Executable => behind().is_some_and(|stat| stat.kind == Kind::Dir || stat.mode & 0o111 != 0),
        })
    }
}
