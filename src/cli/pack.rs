//! A local directory as a tar.gz, made while it is sent.

use std::fs::{self, File, Metadata};
use std::io::{self, BufWriter, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::Ordering;

use bytes::Bytes;
use flate2::Compression;
use flate2::write::GzEncoder;
use futures_util::{Stream, stream};
use tar::{Builder, EntryType, Header};
use tokio::sync::mpsc;
use tokio::task::JoinHandle;

use super::progress::Counts;

/// Compressed pieces between the thread that packs and the connection.
const PIECES: usize = 8;
const PIECE: usize = 64 << 10;

/// Packs all that is below `dir`, links as links. The stream breaks off where the task
/// fails; the task says why, in a line that names the path.
pub fn pack(
    dir: PathBuf,
    counts: Arc<Counts>,
) -> (impl Stream<Item = io::Result<Bytes>> + Send, JoinHandle<Result<(), String>>) {
    let (to, from) = mpsc::channel(PIECES);
    let task = tokio::task::spawn_blocking(move || {
        let packed = Packer::new(to.clone(), &counts).all(&dir);
        if to.is_closed() {
            // Whoever took the pieces knows why no more are wanted.
            return Ok(());
        }
        if let Err(why) = &packed {
            // An end would look like a whole archive.
            let _ = to.blocking_send(Err(io::Error::other(why.clone())));
        }
        packed
    });
    (stream::unfold(from, async |mut from| Some((from.recv().await?, from))), task)
}

struct Pipe(mpsc::Sender<io::Result<Bytes>>);

impl Write for Pipe {
    fn write(&mut self, data: &[u8]) -> io::Result<usize> {
        let sent = self.0.blocking_send(Ok(Bytes::copy_from_slice(data)));
        sent.map(|()| data.len()).map_err(|_| io::ErrorKind::BrokenPipe.into())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

struct Packer<'a> {
    tar: Builder<GzEncoder<BufWriter<Pipe>>>,
    counts: &'a Counts,
}

impl<'a> Packer<'a> {
    fn new(to: mpsc::Sender<io::Result<Bytes>>, counts: &'a Counts) -> Self {
        let pipe = BufWriter::with_capacity(PIECE, Pipe(to));
        Self { tar: Builder::new(GzEncoder::new(pipe, Compression::fast())), counts }
    }

    fn all(mut self, dir: &Path) -> Result<(), String> {
        let mut open = vec![PathBuf::new()];
        while let Some(below) = open.pop() {
            let whole = dir.join(&below);
            let list =
                || fs::read_dir(&whole)?.map(|entry| Ok(entry?.file_name())).collect::<io::Result<Vec<_>>>();
            let mut names = list().map_err(|error| format!("{}: {error}", whole.display()))?;
            // The same directory makes the same archive.
            names.sort_unstable();
            for name in names {
                let (path, name) = (whole.join(&name), below.join(&name));
                let is_dir =
                    self.add(&path, &name).map_err(|error| format!("{}: {error}", path.display()))?;
                if is_dir {
                    open.push(name);
                }
            }
        }
        let end = || -> io::Result<()> { self.tar.into_inner()?.finish()?.flush() };
        end().map_err(|error| error.to_string())
    }

    /// Adds one entry; whether it is a directory.
    fn add(&mut self, path: &Path, name: &Path) -> io::Result<bool> {
        let meta = fs::symlink_metadata(path)?;
        let mut header = Header::new_gnu();
        header.set_metadata(&meta);
        if meta.is_dir() {
            self.tar.append_data(&mut header, name.join(""), io::empty())?;
            return Ok(true);
        }
        if meta.is_symlink() {
            header.set_entry_type(EntryType::Symlink);
            header.set_size(0);
            self.tar.append_link(&mut header, name, fs::read_link(path)?)?;
        } else if meta.is_file() {
            self.file(path, name, header, &meta)?;
        } else {
            return Err(io::Error::other("is neither a file nor a directory nor a link"));
        }
        self.counts.files.fetch_add(1, Ordering::Relaxed);
        Ok(false)
    }

    fn file(&mut self, path: &Path, name: &Path, mut header: Header, meta: &Metadata) -> io::Result<()> {
        let counted = Counted { file: File::open(path)?.take(meta.len()), counts: self.counts };
        let mut exact = Exact { left: meta.len(), from: counted };
        self.tar.append_data(&mut header, name, &mut exact)
    }
}

struct Counted<'a> {
    file: io::Take<File>,
    counts: &'a Counts,
}

impl Read for Counted<'_> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let n = self.file.read(into)?;
        self.counts.bytes.fetch_add(n as u64, Ordering::Relaxed);
        Ok(n)
    }
}

/// Refuses a file that is shorter than its header says.
struct Exact<R> {
    left: u64,
    from: R,
}

impl<R: Read> Read for Exact<R> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let n = self.from.read(into)?;
        self.left -= n as u64;
        if n == 0 && self.left > 0 && !into.is_empty() {
            return Err(io::Error::other("was cut while it was read"));
        }
        Ok(n)
    }
}
