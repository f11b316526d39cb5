//! Files into an archive.

use std::collections::HashMap;
use std::io::{self, Read as _};

use bytes::Bytes;
use tar::{Builder, EntryType, Header};

use super::pack::Packing;
use super::{Job, take};
use crate::exec::commands::{absolute, join, new_name};
use crate::fs::{Errno, Kind, Stat};
use crate::ids::Ino;

/// Bytes of a name in a header. A longer one goes into a member before its own.
const FIELD: usize = 100;
const LONG: &[u8] = b"././@LongLink";

/// The archive that grows.
struct Growing {
    tar: Builder<Vec<u8>>,
    /// Files with several names: inode → the name that has the content.
    linked: HashMap<Ino, String>,
    /// What `--remove-files` takes away, in the order in which it can be.
    added: Vec<(String, Kind)>,
}

impl Job<'_> {
    pub(super) fn add(&mut self, append: bool) {
        if self.plan.names.is_empty() && !append {
            self.answer.complain(2, "tar: Cowardly refusing to create an empty archive");
            self.answer.complain(2, super::TRY);
            return;
        }
        let mut before = Vec::new();
        if append {
            match self.call.read(self.plan.archive) {
                Ok(data) if Packing::of_data(&data) == Packing::None => {
                    before = data[..take::end_of_members(&data)].to_vec();
                }
                Ok(_) => return self.give_up("Cannot update compressed archives"),
                Err(Errno::ENOENT) => {}
                Err(errno) => {
                    return self.give_up(&format!("{}: Cannot open: {errno}", self.plan.archive));
                }
            }
        }
        let mut growing = Growing { tar: Builder::new(before), linked: HashMap::new(), added: Vec::new() };
        for (dir, name) in std::mem::take(&mut self.plan.names) {
            self.member(&dir, &name, &mut growing);
        }
        let Growing { tar, added, .. } = growing;
        let archive = tar.into_inner().and_then(|archive| {
            // GNU's blocks are of 20 records.
            let mut archive = archive;
            archive.resize(archive.len().next_multiple_of(10_240), 0);
            self.plan.packing.pack(archive)
        });
        let archive = match archive {
            Ok(archive) => archive,
            Err(error) => return self.give_up(&error.to_string()),
        };
        if self.plan.archive == "-" {
            self.answer.stdout = archive;
        } else {
            let path = self.call.path(self.plan.archive);
            if let Err(errno) = new_name(&path).and_then(|path| self.call.files.write(path, &archive)) {
                return self.give_up(&format!("{}: Cannot open: {errno}", self.plan.archive));
            }
        }
        if self.plan.remove {
            for (path, kind) in added.iter().rev() {
                let _ = if *kind == Kind::Dir {
                    self.call.files.rmdir(path)
                } else {
                    self.call.files.unlink(path)
                };
            }
        }
    }

    fn member(&mut self, dir: &str, name: &str, growing: &mut Growing) {
        if self.call.is_over() || self.is_left_out(name) {
            return;
        }
        let path = absolute(dir, name);
        let stat = match self.call.files.stat(&path, self.plan.follow) {
            Ok(stat) => stat,
            Err(errno) => return self.complain(&format!("{name}: Cannot stat: {errno}")),
        };
        let archive = self.call.files.stat(&self.call.path(self.plan.archive), true);
        if stat.kind == Kind::File && archive.is_ok_and(|archive| archive.ino == stat.ino) {
            let line = format!("tar: {name}: file is the archive; not dumped\n");
            self.answer.stderr.extend_from_slice(line.as_bytes());
            return;
        }
        let inside = self.inside(name);
        let stored = match stat.kind {
            Kind::Dir => format!("{}/", inside.trim_end_matches('/')),
            _ => inside,
        };
        // The root itself.
        if stored != "/" {
            if let Err(what) = self.put(&path, &stored, &stat, growing) {
                return self.complain(&format!("{name}: {what}"));
            }
            if self.plan.verbose > 0 {
                self.name_it(&stored, &stat);
            }
            growing.added.push((path.clone(), stat.kind));
        }
        if stat.kind == Kind::Dir && self.plan.recursive {
            match self.call.files.read_dir(&path) {
                Ok(entries) => {
                    for (entry, _) in entries {
                        self.member(dir, &join(name, &entry), growing);
                    }
                }
                Err(errno) => self.complain(&format!("{name}: Cannot open: {errno}")),
            }
        }
    }

    /// The list of what goes in: on standard error where the archive is on standard output.
    fn name_it(&mut self, stored: &str, stat: &Stat) {
        let line = if self.plan.verbose > 1 { take::long(stored, stat, None) } else { format!("{stored}\n") };
        let stream = if self.plan.archive == "-" { &mut self.answer.stderr } else { &mut self.answer.stdout };
        stream.extend_from_slice(line.as_bytes());
    }

    fn put(&self, path: &str, stored: &str, stat: &Stat, growing: &mut Growing) -> Result<(), String> {
        let mut header = Header::new_gnu();
        header.set_mode(stat.mode);
        header.set_uid(1000);
        header.set_gid(1000);
        let mtime = self.plan.mtime.unwrap_or(stat.mtime_ns.div_euclid(1_000_000_000));
        header.set_mtime(mtime.max(0).unsigned_abs());
        header.set_username("user").and_then(|()| header.set_groupname("user")).map_err(|e| e.to_string())?;
        header.set_size(0);
        let first = match stat.kind {
            Kind::File if stat.nlink > 1 => growing.linked.get(&stat.ino).cloned(),
            _ => None,
        };
        let (kind, target, data) = match (stat.kind, first) {
            (_, Some(first)) => (EntryType::Link, first, Bytes::new()),
            (Kind::Dir, _) => (EntryType::Directory, String::new(), Bytes::new()),
            (Kind::Symlink, _) => {
                let target = self.call.files.read_link(path).map_err(|errno| errno.to_string())?;
                (EntryType::Symlink, target.as_ref().to_owned(), Bytes::new())
            }
            (Kind::File, _) => {
                let data = self.call.files.read(path).map_err(|errno| format!("Cannot open: {errno}"))?;
                growing.linked.insert(stat.ino, stored.to_owned());
                (EntryType::Regular, String::new(), data)
            }
        };
        header.set_entry_type(kind);
        header.set_size(data.len() as u64);
        growing.append(header, stored, &target, &data).map_err(|error| error.to_string())
    }
}

impl Growing {
    /// Writes a member under any name: the crate's own way to do so takes no absolute ones.
    fn append(&mut self, mut header: Header, name: &str, target: &str, data: &[u8]) -> io::Result<()> {
        for (text, kind) in [(target, b'K'), (name, b'L')] {
            if text.len() > FIELD {
                let mut long = Header::new_gnu();
                long.as_gnu_mut().expect("as it was made").name[..LONG.len()].copy_from_slice(LONG);
                long.set_entry_type(EntryType::new(kind));
                long.set_mode(0o644);
                long.set_size(text.len() as u64 + 1);
                long.set_cksum();
                self.tar.append(&long, text.as_bytes().chain(&b"\0"[..]))?;
            }
        }
        let fields = header.as_gnu_mut().expect("as it was made");
        for (field, text) in [(&mut fields.name, name), (&mut fields.linkname, target)] {
            let length = text.len().min(FIELD);
            field[..length].copy_from_slice(&text.as_bytes()[..length]);
        }
        header.set_cksum();
        self.tar.append(&header, data)
    }
}
