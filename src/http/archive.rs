//! Reading a tar archive into a list of entries: pure, blocking, nothing applied.
//!
//! An archive is refused as a whole when it is truncated or corrupt, holds something
//! that a sandbox cannot hold, names a place outside of itself (`..`, an absolute
//! path, a path through one of its own links), or is over a limit. What it may make
//! this process hold and do is limited while it is read: names and extension headers
//! by [`METADATA_BYTES`] an entry, one file by its limit, all together by theirs.

use std::cell::Cell;
use std::collections::HashSet;
use std::io::{self, Read};
use std::rc::Rc;

use bytes::Bytes;
use tar::EntryType;

use super::content::Content;
use super::error::{ApiError, ApiResult};
use super::extract::relative;

/// Headers, names and attributes of one entry.
const METADATA_BYTES: u64 = 256 << 10;

/// What an archive may hold.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Sum of the file sizes.
    pub bytes: u64,
    /// Files and links; and as many directories.
    pub files: usize,
    /// One file.
    pub file_bytes: u64,
}

/// One entry to be applied.
#[derive(Clone, Debug)]
pub struct Entry {
    /// Relative to the base, plain.
    pub path: String,
    /// What it is.
    pub what: What,
    /// Permission bits.
    pub mode: Option<u32>,
    /// Nanoseconds since the Unix epoch.
    pub mtime_ns: Option<i64>,
}

/// What an entry is.
#[derive(Clone, Debug)]
pub enum What {
    /// A file.
    File(Content),
    /// A directory.
    Dir,
    /// A symbolic link, its target as written.
    Symlink(String),
    /// Another name of an earlier file of the same archive.
    HardLink(String),
}

/// Reads the archive to its end. `stage` takes each file's content.
pub fn read(
    archive: impl Read,
    limits: Limits,
    mut stage: impl FnMut(Bytes) -> ApiResult<Content>,
) -> ApiResult<Vec<Entry>> {
    let gauge = Rc::new(Gauge { allowed: Cell::new(0), ended: Cell::new(false) });
    let mut archive = tar::Archive::new(Gauged { inner: archive, gauge: gauge.clone() });
    let mut entries = archive.entries().map_err(broken)?;
    let mut plan = Plan::new(limits);
    loop {
        gauge.allowed.set(METADATA_BYTES);
        let Some(entry) = entries.next() else { break };
        let mut entry = entry.map_err(broken)?;
        let Some(head) = Head::of(&mut entry)? else { continue };
        gauge.allowed.set(head.size.saturating_add(METADATA_BYTES));
        plan.add(head, &mut entry, &mut stage)?;
    }
    if gauge.ended.get() {
        return Err(ApiError::invalid("the archive is truncated: it does not end with the end mark of tar"));
    }
    // What follows is padding; reading it lets gzip check its sum.
    gauge.allowed.set(u64::MAX);
    let mut rest = archive.into_inner();
    let mut padding = limits.bytes;
    let mut buffer = vec![0; 64 << 10];
    loop {
        match rest.read(&mut buffer).map_err(broken)? as u64 {
            0 => return Ok(plan.entries),
            n if n > padding => return Err(plan.too_many_bytes()),
            n => padding -= n,
        }
    }
}

#[expect(clippy::needless_pass_by_value, reason = "the shape that map_err wants")]
fn broken(error: io::Error) -> ApiError {
    // The reader quotes what it met, which may be any bytes at any length.
    let why: String = error.to_string().chars().take(200).flat_map(char::escape_debug).collect();
    ApiError::invalid(format!("the archive cannot be read: {why}"))
}

/// Counts what the tar reader takes on its own account.
struct Gauge {
    allowed: Cell<u64>,
    ended: Cell<bool>,
}

struct Gauged<R> {
    inner: R,
    gauge: Rc<Gauge>,
}

impl<R: Read> Read for Gauged<R> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let n = self.inner.read(into)?;
        if n == 0 && !into.is_empty() {
            self.gauge.ended.set(true);
        }
        match self.gauge.allowed.get().checked_sub(n as u64) {
            Some(left) => self.gauge.allowed.set(left),
            None => return Err(io::Error::other("the headers of one entry are too large")),
        }
        Ok(n)
    }
}

/// One entry's header, checked.
struct Head {
    kind: EntryType,
    path: String,
    /// As the archive has it: a trailing slash makes old archives' files directories.
    slash: bool,
    link: Option<String>,
    size: u64,
    mode: u32,
    mtime_ns: Option<i64>,
}

impl Head {
    /// `None` for entries that stand for nothing by themselves.
    fn of<R: Read>(entry: &mut tar::Entry<'_, R>) -> ApiResult<Option<Self>> {
        let kind = entry.header().entry_type();
        if kind.is_pax_global_extensions() {
            return Ok(None);
        }
        let raw = text(&entry.path_bytes())?;
        if raw.trim_end_matches('/') == "." {
            return Ok(None);
        }
        let path = relative("archive entry", &raw)?;
        let link = entry.link_name_bytes().map(|link| text(&link)).transpose()?;
        let mode = entry.header().mode().map_err(broken)? & 0o7777;
        let mut mtime_ns =
            entry.header().mtime().ok().and_then(|s| i64::try_from(s).ok()?.checked_mul(1_000_000_000));
        for extension in entry.pax_extensions().map_err(broken)?.into_iter().flatten() {
            let extension = extension.map_err(broken)?;
            let key = extension.key().unwrap_or_default();
            if key == "mtime" {
                mtime_ns = extension.value().ok().and_then(nanoseconds).or(mtime_ns);
            }
            if key.starts_with("GNU.sparse.") {
                return Err(unsupported(&path, "a sparse file"));
            }
        }
        let slash = raw.ends_with('/');
        Ok(Some(Self { kind, path, slash, link, size: entry.size(), mode, mtime_ns }))
    }
}

fn text(bytes: &[u8]) -> ApiResult<String> {
    if let Ok(text) = std::str::from_utf8(bytes) {
        return Ok(text.to_owned());
    }
    let shown = String::from_utf8_lossy(bytes);
    Err(ApiError::invalid(format!(
        "archive entry {shown:?}: Invalid or incomplete multibyte or wide character"
    )))
}

/// Decimal seconds with a fraction, as PAX has them.
fn nanoseconds(text: &str) -> Option<i64> {
    let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
    if !fraction.bytes().all(|b| b.is_ascii_digit()) {
        return None;
    }
    let digits: String = fraction.chars().chain(std::iter::repeat('0')).take(9).collect();
    let (seconds, part): (i64, i64) = (whole.parse().ok()?, digits.parse().ok()?);
    let part = if whole.starts_with('-') { -part } else { part };
    seconds.checked_mul(1_000_000_000)?.checked_add(part)
}

fn unsupported(path: &str, what: &str) -> ApiError {
    ApiError::invalid(format!("archive entry {path:?}: {what} cannot be held"))
}

/// The entries so far, and what later ones must not do.
struct Plan {
    limits: Limits,
    entries: Vec<Entry>,
    bytes: u64,
    files: usize,
    dirs: usize,
    links: HashSet<String>,
    contents: HashSet<String>,
}

impl Plan {
    fn new(limits: Limits) -> Self {
        let (links, contents) = (HashSet::new(), HashSet::new());
        Self { limits, entries: Vec::new(), bytes: 0, files: 0, dirs: 0, links, contents }
    }

    fn add(
        &mut self,
        head: Head,
        data: &mut impl Read,
        stage: &mut impl FnMut(Bytes) -> ApiResult<Content>,
    ) -> ApiResult<()> {
        let path = head.path;
        if let Some(link) = ancestors(&path).find(|a| self.links.contains(*a)) {
            return Err(ApiError::invalid(format!(
                "archive entry {path:?}: leads through the archive's own link {link:?}"
            )));
        }
        let what = match head.kind {
            EntryType::Directory => What::Dir,
            EntryType::Regular | EntryType::Continuous if head.slash => What::Dir,
            EntryType::Regular | EntryType::Continuous => {
                What::File(stage(self.content(&path, head.size, data)?)?)
            }
            EntryType::Symlink => match head.link {
                Some(target) if !target.is_empty() && !target.contains('\0') => What::Symlink(target),
                _ => {
                    return Err(ApiError::invalid(format!(
                        "archive entry {path:?}: a link without a target"
                    )));
                }
            },
            EntryType::Link => {
                let target = relative("hard link in the archive", head.link.as_deref().unwrap_or_default())?;
                if !self.contents.contains(&target) {
                    return Err(ApiError::invalid(format!(
                        "archive entry {path:?}: a hard link to {target:?}, which is no earlier file of the archive"
                    )));
                }
                What::HardLink(target)
            }
            EntryType::Char | EntryType::Block => return Err(unsupported(&path, "a device")),
            EntryType::Fifo => return Err(unsupported(&path, "a named pipe")),
            EntryType::GNUSparse => return Err(unsupported(&path, "a sparse file")),
            other => {
                return Err(unsupported(
                    &path,
                    &format!("an entry of type {:?}", char::from(other.as_byte())),
                ));
            }
        };
        self.remember(&path, &what)?;
        self.entries.push(Entry { path, what, mode: Some(head.mode), mtime_ns: head.mtime_ns });
        Ok(())
    }

    fn content(&mut self, path: &str, size: u64, data: &mut impl Read) -> ApiResult<Bytes> {
        if size > self.limits.file_bytes {
            return Err(ApiError::file_too_large(path, self.limits.file_bytes));
        }
        self.bytes += size;
        if self.bytes > self.limits.bytes {
            return Err(self.too_many_bytes());
        }
        // Not reserved at once: the header may lie.
        let mut content = Vec::with_capacity(size.min(1 << 20) as usize);
        data.take(size).read_to_end(&mut content).map_err(broken)?;
        if content.len() as u64 != size {
            return Err(ApiError::invalid(format!("the archive is truncated within {path:?}")));
        }
        Ok(content.into())
    }

    fn remember(&mut self, path: &str, what: &What) -> ApiResult<()> {
        let (counter, name) = match what {
            What::Dir => (&mut self.dirs, "directories"),
            What::File(_) | What::Symlink(_) | What::HardLink(_) => (&mut self.files, "files"),
        };
        *counter += 1;
        if *counter > self.limits.files {
            let limit = self.limits.files as u64;
            return Err(ApiError::too_large(
                &format!("the archive's {name} are"),
                limit,
                "each",
                "MAX_INGEST_FILES",
            ));
        }
        match what {
            What::File(_) | What::HardLink(_) => {
                self.links.remove(path);
                self.contents.insert(path.to_owned());
            }
            What::Symlink(_) => {
                self.contents.remove(path);
                self.links.insert(path.to_owned());
            }
            What::Dir => {}
        }
        Ok(())
    }

    fn too_many_bytes(&self) -> ApiError {
        ApiError::too_large("the unpacked archive is", self.limits.bytes, "bytes", "MAX_INGEST_BYTES")
    }
}

/// The directories above a relative path, itself excluded.
fn ancestors(path: &str) -> impl Iterator<Item = &str> {
    path.match_indices('/').map(|(at, _)| &path[..at])
}

#[cfg(test)]
#[path = "archive_tests.rs"]
mod tests;
