//! Where lines go: standard output, the file that is edited, files of `w`.

use super::failed::Failed;
use crate::exec::commands::{Answer, Call, new_name};
use crate::fs::{Errno, Kind};

/// Bytes, and whether their last line lacks its end so far: what follows puts it there.
#[derive(Default)]
pub(super) struct Sink {
    pub(super) data: Vec<u8>,
    unended: bool,
}

impl Sink {
    /// Text as it is, on a line of its own.
    pub(super) fn put(&mut self, text: &[u8], end: u8) {
        self.end_line(end);
        self.data.extend_from_slice(text);
    }

    /// A line, with its end if it has one.
    pub(super) fn line(&mut self, text: &[u8], ended: bool, end: u8) {
        self.put(text, end);
        if ended {
            self.data.push(end);
        } else {
            self.unended = true;
        }
    }

    pub(super) fn end_line(&mut self, end: u8) {
        if std::mem::take(&mut self.unended) {
            self.data.push(end);
        }
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Target {
    Stdout,
    Stderr,
    File,
}

/// A file of `w`.
struct Output {
    target: Target,
    path: String,
    sink: Sink,
}

pub(super) struct Outputs<'a> {
    call: &'a Call<'a>,
    end: u8,
    pub(super) stdout: Sink,
    stderr: Vec<u8>,
    /// What the file that is edited becomes.
    pub(super) edited: Option<Sink>,
    named: Vec<Output>,
    /// Bytes of files of `w` that are not in them yet.
    pending: usize,
}

impl<'a> Outputs<'a> {
    /// Empties the files of `w`.
    pub(super) fn open(call: &'a Call<'a>, names: &[String], end: u8) -> Result<Self, Failed> {
        let mut named = Vec::new();
        for name in names {
            let path = call.path(name);
            let target = match path.as_str() {
                "/dev/stdout" => Target::Stdout,
                "/dev/stderr" => Target::Stderr,
                _ => Target::File,
            };
            if target == Target::File {
                new_name(&path)
                    .and_then(|path| call.files.write(path, b""))
                    .map_err(|errno| unopened(name, errno))?;
            }
            named.push(Output { target, path, sink: Sink::default() });
        }
        let (stdout, stderr) = (Sink::default(), Vec::new());
        Ok(Self { call, end, stdout, stderr, edited: None, named, pending: 0 })
    }

    /// Where lines are printed.
    pub(super) fn main(&mut self) -> &mut Sink {
        self.edited.as_mut().unwrap_or(&mut self.stdout)
    }

    /// A line for a file of `w`.
    pub(super) fn write(&mut self, number: usize, text: &[u8], ended: bool) {
        let output = &mut self.named[number];
        output.sink.line(text, ended, self.end);
        match output.target {
            Target::Stdout => self.stdout.data.append(&mut output.sink.data),
            Target::Stderr => self.stderr.append(&mut output.sink.data),
            Target::File => self.pending += text.len() + 1,
        }
    }

    /// Fills the files of `w`. Before, nobody sees in them what was written, as GNU's buffers it.
    pub(super) fn flush(&mut self) -> Result<(), Failed> {
        if std::mem::take(&mut self.pending) == 0 {
            return Ok(());
        }
        for output in self.named.iter_mut().filter(|output| !output.sink.data.is_empty()) {
            let data = std::mem::take(&mut output.sink.data);
            self.call.files.append(&output.path, &data).map_err(|errno| {
                Failed::new(4, format!("couldn't write {} items to {}: {errno}", data.len(), output.path))
            })?;
        }
        Ok(())
    }

    /// Bytes that are held.
    pub(super) fn held(&self) -> usize {
        self.stdout.data.len() + self.pending + self.edited.as_ref().map_or(0, |sink| sink.data.len())
    }

    pub(super) fn into_answer(self, answer: &mut Answer) {
        answer.stdout = self.stdout.data;
        answer.stderr.extend_from_slice(&self.stderr);
    }
}

pub(super) fn unopened(name: &str, errno: Errno) -> Failed {
    Failed::new(4, format!("couldn't open file {name}: {errno}"))
}

/// How files are edited.
#[derive(Clone, Copy, Default)]
pub(super) struct InPlace<'a> {
    /// What the old one is named by, if it is kept.
    pub(super) suffix: Option<&'a str>,
    /// The file that a link leads to is edited, not the link replaced.
    pub(super) follow: bool,
}

impl InPlace<'_> {
    /// Puts `data` where a file is. As GNU's, who makes a new file: a link becomes one, and other
    /// names of the file keep the old content.
    pub(super) fn replace(&self, call: &Call<'_>, name: &str, data: &[u8]) -> Result<(), Failed> {
        self.try_replace(call, name, data)
            .map_err(|errno| Failed::new(4, format!("couldn't edit {name}: {errno}")))
    }

    fn try_replace(&self, call: &Call<'_>, name: &str, data: &[u8]) -> Result<(), Errno> {
        let files = call.files;
        let mut path = call.path(new_name(name)?);
        if self.follow {
            path = files.canonical(&path)?;
        }
        let mode = files.stat(&path, true)?.mode;
        let entry = files.stat(&path, false)?;
        if let Some(suffix) = self.suffix {
            files.rename(&path, &call.path(&backup(&path, new_name(suffix)?)))?;
        } else if entry.kind == Kind::File && entry.nlink == 1 {
            return files.write(&path, data);
        } else {
            files.unlink(&path)?;
        }
        files.write_new(&path, data, mode)
    }
}

/// The name under which an old file is kept: in its directory, unless the suffix names another.
fn backup(path: &str, suffix: &str) -> String {
    let (dir, base) = path.rsplit_once('/').unwrap_or(("", path));
    let name = if suffix.contains('*') { suffix.replace('*', base) } else { format!("{base}{suffix}") };
    if name.contains('/') { name } else { format!("{dir}/{name}") }
}

#[cfg(test)]
mod tests {
    use super::backup;

    #[test]
    fn backups_are_beside_the_file() {
        assert_eq!(backup("/a/f", ".bak"), "/a/f.bak");
        assert_eq!(backup("/a/f", "old_*"), "/a/old_f");
        assert_eq!(backup("/a/f", "b/*.x"), "b/f.x");
        assert_eq!(backup("/f", "~"), "/f~");
    }
}
