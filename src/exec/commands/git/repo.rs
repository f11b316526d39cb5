//! A repository: where it is, and its objects.

use std::collections::BTreeSet;
use std::sync::{Arc, OnceLock};

use super::config::Config;
use super::failed::{Done, at, error, fatal};
use super::inflate::{deflate, head, inflate};
use super::object::{Commit, Entry, Kind, Tag, parse_tree};
use super::oid::Oid;
use super::pack::Pack;
use super::{index_pack, join};
use crate::exec::commands::Call;
use crate::fs::Errno;

/// Tags of tags of tags …
const DEEPEST_TAG: usize = 50;

/// A repository.
pub(super) struct Repo<'a> {
    pub(super) call: &'a Call<'a>,
    /// Path of `.git`.
    pub(super) dir: String,
    /// Path of the work tree, unless it is bare.
    pub(super) work: Option<String>,
    pub(super) config: Config,
    /// Where the command runs, from the root of the work tree.
    pub(super) prefix: String,
    packs: OnceLock<Done<Vec<Arc<Pack>>>>,
    shallow: OnceLock<BTreeSet<Oid>>,
}

/// An object as it is stored.
#[derive(Clone, Debug)]
pub(super) struct Object {
    pub(super) kind: Kind,
    pub(super) data: Arc<Vec<u8>>,
}

impl<'a> Repo<'a> {
    /// The repository of these places.
    pub(super) fn new(call: &'a Call<'a>, dir: String, work: Option<String>, config: Config) -> Self {
        Self {
            call,
            dir,
            work,
            config,
            prefix: String::new(),
            packs: OnceLock::new(),
            shallow: OnceLock::new(),
        }
    }

    /// A path in `.git`.
    pub(super) fn path(&self, name: &str) -> String {
        join(&self.dir, name)
    }

    /// Bytes of a file, `None` if it is not there.
    pub(super) fn file(&self, path: &str) -> Done<Option<bytes::Bytes>> {
        match self.call.files.read(path) {
            Ok(data) => Ok(Some(data)),
            Err(Errno::ENOENT | Errno::ENOTDIR | Errno::EISDIR) => Ok(None),
            Err(errno) => Err(at(path)(errno)),
        }
    }

    /// Writes a file, its directories too.
    pub(super) fn put(&self, path: &str, data: &[u8]) -> Done {
        if let Some((dir, _)) = path.rsplit_once('/').filter(|(dir, _)| !dir.is_empty()) {
            self.call.files.make_dirs(dir).map_err(at(dir))?;
        }
        self.call.files.write(path, data).map_err(at(path))
    }

    /// The largest object.
    pub(super) fn longest(&self) -> u64 {
        self.call.files.quota().file_bytes
    }

    /// Ends long work of a script that is being ended.
    pub(super) fn go_on(&self) -> Done {
        if self.call.is_over() { Err(fatal("interrupted")) } else { Ok(()) }
    }

    fn packs(&self) -> Done<&[Arc<Pack>]> {
        let found = self.packs.get_or_init(|| {
            let dir = self.path("objects/pack");
            let mut packs = Vec::new();
            for (name, _) in self.call.files.read_dir(&dir).unwrap_or_default() {
                let Some(stem) = name.strip_suffix(".idx") else { continue };
                let path = join(&dir, &format!("{stem}.pack"));
                let index = self.file(&join(&dir, &name))?;
                if let (Some(index), Some(data)) = (index, self.file(&path)?) {
                    packs.push(Arc::new(Pack::new(index, data)?));
                }
            }
            Ok(packs)
        });
        found.as_deref().map_err(Clone::clone)
    }

    fn loose(&self, oid: &Oid) -> String {
        let name = oid.to_string();
        self.path(&format!("objects/{}/{}", &name[..2], &name[2..]))
    }

    /// Whether an object is there.
    pub(super) fn has(&self, oid: &Oid) -> Done<bool> {
        Ok(self.packs()?.iter().any(|pack| pack.find(oid).is_some())
            || self.call.files.exists(&self.loose(oid)).map_err(at(&self.dir))?)
    }

    /// An object, if it is there.
    pub(super) fn find(&self, oid: &Oid) -> Done<Option<Object>> {
        self.go_on()?;
        for pack in self.packs()? {
            if let Some(place) = pack.find(oid) {
                let (kind, data) = pack.read(place, self.longest())?;
                return Ok(Some(Object { kind, data }));
            }
        }
        let Some(packed) = self.file(&self.loose(oid))? else { return Ok(None) };
        let bad = || fatal(format!("loose object {oid} is corrupt"));
        let begin = head(&packed).map_err(|_| bad())?;
        let end = begin.iter().position(|&byte| byte == 0).ok_or_else(bad)?;
        let text = std::str::from_utf8(&begin[..end]).map_err(|_| bad())?;
        let (kind, size) = text.split_once(' ').ok_or_else(bad)?;
        let kind = Kind::parse(kind).ok_or_else(bad)?;
        let size: u64 = size.parse().map_err(|_| bad())?;
        let all = size.checked_add(end as u64 + 1).ok_or_else(bad)?;
        let (mut data, _) = inflate(&packed, all, self.longest().saturating_add(64))
            .map_err(|failed| fatal(format!("loose object {oid} is corrupt: {}", failed.message)))?;
        data.drain(..=end);
        if Oid::of(kind, &data) != *oid {
            return Err(fatal(format!("loose object {oid} is corrupt: its hash is another")));
        }
        Ok(Some(Object { kind, data: Arc::new(data) }))
    }

    /// An object that must be there.
    pub(super) fn read(&self, oid: &Oid) -> Done<Object> {
        self.find(oid)?.ok_or_else(|| fatal(format!("unable to read {oid}")))
    }

    /// An object of this kind.
    pub(super) fn read_as(&self, oid: &Oid, kind: Kind) -> Done<Arc<Vec<u8>>> {
        let object = self.read(oid)?;
        if object.kind == kind {
            return Ok(object.data);
        }
        Err(fatal(format!("object {oid} is a {}, not a {}", object.kind.name(), kind.name())))
    }

    /// A blob's bytes.
    pub(super) fn blob(&self, oid: &Oid) -> Done<Arc<Vec<u8>>> {
        self.read_as(oid, Kind::Blob)
    }

    /// A commit. Where history was cut off it has no parents.
    pub(super) fn commit(&self, oid: &Oid) -> Done<Commit> {
        let mut commit = self.whole_commit(oid)?;
        if self.shallow().contains(oid) {
            commit.parents.clear();
        }
        Ok(commit)
    }

    /// A commit as it is written.
    pub(super) fn whole_commit(&self, oid: &Oid) -> Done<Commit> {
        Commit::parse(&self.read_as(oid, Kind::Commit)?)
    }

    /// Commits whose parents were not fetched.
    pub(super) fn shallow(&self) -> &BTreeSet<Oid> {
        self.shallow.get_or_init(|| {
            let data = self.file(&self.path("shallow")).ok().flatten().unwrap_or_default();
            String::from_utf8_lossy(&data).lines().filter_map(Oid::parse).collect()
        })
    }

    /// Notes where history is cut off now.
    pub(super) fn set_shallow(&mut self, cut: &BTreeSet<Oid>) -> Done {
        let path = self.path("shallow");
        self.shallow = OnceLock::new();
        if cut.is_empty() {
            let _ = self.call.files.unlink(&path);
            return Ok(());
        }
        self.put(&path, cut.iter().map(|oid| format!("{oid}\n")).collect::<String>().as_bytes())
    }

    /// The entries of a tree.
    pub(super) fn tree(&self, oid: &Oid) -> Done<Vec<Entry>> {
        parse_tree(&self.read_as(oid, Kind::Tree)?)
    }

    /// Follows tags, and with `Kind::Tree` a commit, to an object of a kind.
    pub(super) fn peel(&self, oid: &Oid, kind: Option<Kind>) -> Done<Oid> {
        let mut oid = *oid;
        for _ in 0..DEEPEST_TAG {
            let object = self.read(&oid)?;
            match (object.kind, kind) {
                (own, Some(wanted)) if own == wanted => return Ok(oid),
                (Kind::Tag, _) => oid = Tag::parse(&object.data)?.object,
                (_, None) => return Ok(oid),
                (Kind::Commit, Some(Kind::Tree)) => return Ok(Commit::parse(&object.data)?.tree),
                (own, Some(wanted)) => {
                    return Err(error(format!("object {oid} is a {}, not a {}", own.name(), wanted.name())));
                }
            }
        }
        Err(fatal("tags that lead to tags without an end"))
    }

    /// Stores an object as a file of its own, unless it is there.
    pub(super) fn write(&self, kind: Kind, data: &[u8]) -> Done<Oid> {
        let oid = Oid::of(kind, data);
        if self.has(&oid)? {
            return Ok(oid);
        }
        let path = self.loose(&oid);
        let dir = path.rsplit_once('/').map_or("", |(dir, _)| dir);
        self.call.files.make_dirs(dir).map_err(at(dir))?;
        let mut whole = format!("{} {}\0", kind.name(), data.len()).into_bytes();
        whole.extend_from_slice(data);
        self.call.files.write_new(&path, &deflate(&whole), 0o444).map_err(at(&path))?;
        Ok(oid)
    }

    /// Takes in a pack.
    pub(super) fn add_pack(&mut self, pack: &[u8]) -> Done {
        let (index, name) = index_pack::index(pack, self.longest(), &|| self.call.is_over())?;
        let stem = self.path(&format!("objects/pack/pack-{name}"));
        for (ending, data) in [("pack", pack), ("idx", &index[..])] {
            let path = format!("{stem}.{ending}");
            if !self.call.files.exists(&path).map_err(at(&path))? {
                self.put(&path, data)?;
                self.call.files.chmod(&path, 0o444).map_err(at(&path))?;
            }
        }
        self.packs = OnceLock::new();
        Ok(())
    }

    /// Objects whose names begin so; three at most.
    pub(super) fn with_prefix(&self, prefix: &str) -> Done<Vec<Oid>> {
        let mut found: Vec<Oid> = Vec::new();
        let mut padded = prefix.to_owned();
        padded.extend(std::iter::repeat_n('0', 40usize.saturating_sub(prefix.len())));
        let Some(from) = Oid::parse(&padded) else { return Ok(found) };
        for pack in self.packs()? {
            found
                .extend(pack.names_from(&from).take_while(|oid| oid.to_string().starts_with(prefix)).take(3));
        }
        let dir = self.path(&format!("objects/{}", &padded[..2]));
        for (name, _) in self.call.files.read_dir(&dir).unwrap_or_default() {
            let name = format!("{}{name}", &padded[..2]);
            if name.starts_with(prefix) {
                found.extend(Oid::parse(&name));
            }
        }
        found.sort_unstable();
        found.dedup();
        found.truncate(3);
        Ok(found)
    }

    /// The shortest name that is clear, of seven digits at least.
    pub(super) fn short(&self, oid: &Oid) -> Done<String> {
        let count: usize = self.packs()?.iter().map(|pack| pack.count()).sum();
        // As git: two digits for each doubling of the square root.
        let bits = (usize::BITS - count.leading_zeros()) as usize;
        self.short_of(oid, bits.div_ceil(2).max(7))
    }

    /// The shortest name that is clear, of so many digits at least.
    pub(super) fn short_of(&self, oid: &Oid, least: usize) -> Done<String> {
        let name = oid.to_string();
        for digits in least.clamp(4, 40)..40 {
            if self.with_prefix(&name[..digits])?.len() <= 1 {
                return Ok(name[..digits].to_owned());
            }
        }
        Ok(name)
    }
}
