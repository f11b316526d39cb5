//! What headers say of a member: owner, mode, time, and in which format.

use tar::Header;

use crate::exec::commands::mode;
use crate::fs::{Kind, Stat};

/// How headers are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Format {
    Gnu,
    Ustar,
    Pax,
}

impl Format {
    /// `Err` is GNU's message.
    pub(super) fn read(name: &str) -> Result<Self, String> {
        match name {
            "gnu" | "oldgnu" => Ok(Self::Gnu),
            "ustar" => Ok(Self::Ustar),
            "pax" | "posix" => Ok(Self::Pax),
            "v7" => Err("the format v7 is not supported here".to_owned()),
            name => Err(format!("{name}: Invalid archive format")),
        }
    }
}

/// A user or group.
#[derive(Clone, Debug)]
pub(super) struct Owner {
    name: String,
    id: Option<u64>,
}

impl Owner {
    /// `NAME`, `NAME:ID`, `:ID`, `ID`. `Err` is GNU's message.
    pub(super) fn read(text: &str) -> Result<Self, String> {
        let number = |text: &str| text.trim_start_matches('+').parse::<u64>().ok();
        if let Some((name, id)) = text.split_once(':') {
            let id = number(id).ok_or_else(|| format!("{id}: Invalid owner or group ID"))?;
            return Ok(Self { name: name.to_owned(), id: Some(id) });
        }
        Ok(match (text, number(text)) {
            (_, Some(id)) => Self { name: String::new(), id: Some(id) },
            ("user", _) => Self { name: text.to_owned(), id: Some(USER) },
            ("root", _) => Self { name: text.to_owned(), id: Some(0) },
            _ => Self { name: text.to_owned(), id: None },
        })
    }
}

/// The one user of a sandbox, and its group.
const USER: u64 = 1000;
const NAME: &str = "user";

#[derive(Clone, Debug)]
pub(super) struct Stamp {
    pub(super) format: Format,
    pub(super) owner: Option<Owner>,
    pub(super) group: Option<Owner>,
    pub(super) numeric: bool,
    pub(super) mode: Option<String>,
    /// Seconds.
    pub(super) mtime: Option<i64>,
    /// Only what is younger gets that time.
    pub(super) clamp: bool,
}

impl Stamp {
    pub(super) fn new() -> Self {
        Self {
            format: Format::Gnu,
            owner: None,
            group: None,
            numeric: false,
            mode: None,
            mtime: None,
            clamp: false,
        }
    }

    /// The header of a member, without its name, kind and size.
    pub(super) fn header(&self, stat: &Stat) -> std::io::Result<Header> {
        let mut header = if self.format == Format::Gnu { Header::new_gnu() } else { Header::new_ustar() };
        let dir = stat.kind == Kind::Dir;
        let changed = self.mode.as_deref().and_then(|text| mode::change(text, stat.mode, dir, 0));
        header.set_mode(changed.unwrap_or(stat.mode));
        let own = Owner { name: NAME.to_owned(), id: Some(USER) };
        let (owner, group) = (self.owner.as_ref().unwrap_or(&own), self.group.as_ref().unwrap_or(&own));
        header.set_uid(owner.id.unwrap_or(USER));
        header.set_gid(group.id.unwrap_or(USER));
        if !self.numeric {
            header.set_username(&owner.name)?;
            header.set_groupname(&group.name)?;
        }
        header.set_mtime(self.seconds(stat).max(0).unsigned_abs());
        header.set_size(0);
        Ok(header)
    }

    /// The time that a member gets.
    pub(super) fn seconds(&self, stat: &Stat) -> i64 {
        let own = stat.mtime_ns.div_euclid(1_000_000_000);
        match self.mtime {
            Some(mtime) if !self.clamp || own > mtime => mtime,
            _ => own,
        }
    }
}

/// Writes the check sum into a header that is complete: six digits, a NUL and a space, as GNU's.
pub(super) fn seal(header: &mut Header) {
    header.set_cksum();
    if let Ok(sum) = header.cksum() {
        header.as_old_mut().cksum.copy_from_slice(format!("{:06o}\0 ", sum & 0o777_777).as_bytes());
    }
}

/// A name parted for the two fields of a `ustar` header. `Err` says why it cannot be.
pub(super) fn parted(name: &str) -> Result<(&str, &str), String> {
    const NAME: usize = 100;
    const PREFIX: usize = 155;
    if name.len() <= NAME {
        return Ok(("", name));
    }
    if name.len() > PREFIX + 1 + NAME {
        return Err("file name is too long (max 256); not dumped".to_owned());
    }
    // The slash at the end of a directory parts nothing.
    let body = name.strip_suffix('/').unwrap_or(name);
    let fits = |at: &usize| *at > 0 && *at <= PREFIX && name.len() - at - 1 <= NAME;
    let at = body.match_indices('/').map(|(at, _)| at).rfind(fits);
    at.map(|at| (&name[..at], &name[at + 1..]))
        .ok_or_else(|| "file name is too long (cannot be split); not dumped".to_owned())
}

/// A record of an extended header: its own length stands at its beginning.
pub(super) fn record(key: &str, value: &str) -> String {
    let rest = key.len() + value.len() + 3;
    let mut length = rest;
    while rest + length.to_string().len() != length {
        length = rest + length.to_string().len();
    }
    format!("{length} {key}={value}\n")
}

#[cfg(test)]
mod tests {
    use super::{parted, record};

    #[test]
    fn records_count_themselves_and_names_are_parted() {
        assert_eq!(record("path", "x"), "9 path=x\n");
        let long = "y".repeat(90);
        let made = record("path", &long);
        assert!(made.starts_with(&format!("{} ", made.len())), "{made}");
        let name = format!("{}/{}", "d".repeat(60), "f".repeat(60));
        assert_eq!(parted(&name).unwrap().0.len(), 60);
        assert!(parted(&"x".repeat(101)).is_err() && parted(&"x/".repeat(150)).is_err());
    }
}
