//! Lines of all inputs, and whether one is the last.

use std::collections::VecDeque;

use super::failed::Failed;
use crate::exec::commands::Call;
use crate::exec::commands::input::Input;
use crate::fs::{Errno, Kind};

/// An input that is open.
pub(super) struct Source<'a> {
    pub(super) name: String,
    data: Input<'a>,
    at: usize,
    /// A directory can be opened, and not read.
    unreadable: bool,
}

pub(super) struct Inputs<'a> {
    call: &'a Call<'a>,
    names: VecDeque<&'a str>,
    /// Files are edited in place.
    in_place: bool,
    /// Each file has lines of its own.
    separate: bool,
    end: u8,
    pub(super) current: Option<Source<'a>>,
    /// The one after, looked into for the last line.
    ahead: Option<Source<'a>>,
    /// How much of standard input is taken.
    stdin_at: usize,
    /// What could not be opened.
    pub(super) complaints: Vec<String>,
}

/// What comes of asking for a line.
pub(super) enum Got {
    Line {
        /// Whether something ended it.
        ended: bool,
        /// Whether it is the first of a file that has lines of its own.
        fresh: bool,
    },
    /// A file that is edited has none.
    Empty,
    Nothing,
}

impl<'a> Inputs<'a> {
    pub(super) fn new(
        call: &'a Call<'a>,
        names: Vec<&'a str>,
        in_place: bool,
        separate: bool,
        end: u8,
    ) -> Self {
        Self {
            call,
            names: names.into(),
            in_place,
            separate,
            end,
            current: None,
            ahead: None,
            stdin_at: 0,
            complaints: Vec::new(),
        }
    }

    /// All that is left of standard input.
    pub(super) fn stdin(&mut self) -> &'a [u8] {
        let rest = &self.call.stdin[self.stdin_at..];
        self.stdin_at = self.call.stdin.len();
        rest
    }

    /// One line of standard input, its end included.
    pub(super) fn stdin_line(&mut self) -> &'a [u8] {
        let rest = &self.call.stdin[self.stdin_at..];
        let len = memchr::memchr(self.end, rest).map_or(rest.len(), |at| at + 1);
        self.stdin_at += len;
        &rest[..len]
    }

    /// Whether the next file must be opened first: what is written to the present one is complete
    /// then.
    pub(super) fn at_end_of_file(&self) -> bool {
        self.current.as_ref().is_none_or(|source| source.at >= source.data.len() && !source.unreadable)
    }

    /// Opens the next file that is there.
    fn open_next(&mut self) -> Result<Option<Source<'a>>, Failed> {
        while let Some(name) = self.names.pop_front() {
            match self.open(name) {
                Ok(source) => return Ok(Some(source)),
                Err(Errno::EISDIR) if self.in_place => {
                    return Err(Failed::new(4, format!("couldn't edit {name}: not a regular file")));
                }
                Err(Errno::EISDIR) => {
                    let data = Input::Borrowed(&[]);
                    return Ok(Some(Source { name: name.to_owned(), data, at: 0, unreadable: true }));
                }
                Err(errno) => self.complaints.push(format!("can't read {name}: {errno}")),
            }
        }
        Ok(None)
    }

    fn open(&mut self, name: &str) -> Result<Source<'a>, Errno> {
        let source = |data| Source { name: name.to_owned(), data, at: 0, unreadable: false };
        if !self.in_place {
            if name == "-" {
                return Ok(source(Input::Borrowed(self.stdin())));
            }
            if is_stdin(&self.call.path(name)) {
                return Ok(source(Input::Borrowed(self.stdin())));
            }
            if let Some(lent) = self.call.lent.get(name) {
                return Ok(source(Input::Owned(lent.data.clone())));
            }
        }
        let path = self.call.path(name);
        if self.in_place && self.call.files.stat(&path, true)?.kind == Kind::Dir {
            return Err(Errno::EISDIR);
        }
        self.call.files.read(&path).map(|data| source(Input::Owned(data)))
    }

    /// Appends the next line to `line`.
    pub(super) fn next(&mut self, line: &mut Vec<u8>) -> Result<Got, Failed> {
        let mut fresh = false;
        while self.at_end_of_file() {
            let next = match self.ahead.take() {
                Some(ahead) => Some(ahead),
                None => self.open_next()?,
            };
            if next.is_none() {
                return Ok(Got::Nothing);
            }
            fresh = self.separate;
            self.current = next;
            if self.in_place && self.at_end_of_file() {
                return Ok(Got::Empty);
            }
        }
        let Some(source) = &mut self.current else { return Ok(Got::Nothing) };
        if source.unreadable {
            return Err(Failed::new(4, format!("read error on {}: {}", source.name, Errno::EISDIR)));
        }
        let rest = &source.data[source.at..];
        let len = memchr::memchr(self.end, rest);
        line.extend_from_slice(&rest[..len.unwrap_or(rest.len())]);
        source.at += len.map_or(rest.len(), |len| len + 1);
        Ok(Got::Line { ended: len.is_some(), fresh })
    }

    /// Whether the line that was read last is the last one.
    pub(super) fn is_last(&mut self) -> Result<bool, Failed> {
        if !self.at_end_of_file() {
            return Ok(false);
        }
        if self.separate {
            return Ok(true);
        }
        loop {
            if self.ahead.as_ref().is_some_and(|ahead| ahead.at < ahead.data.len()) {
                return Ok(false);
            }
            self.ahead = self.open_next()?;
            if self.ahead.is_none() {
                return Ok(true);
            }
        }
    }
}

/// Whether a path is standard input.
pub(super) fn is_stdin(path: &str) -> bool {
    matches!(path, "/dev/stdin" | "/dev/fd/0" | "/proc/self/fd/0")
}
