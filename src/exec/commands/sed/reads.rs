//! Files of `r` and `R`.

use std::collections::HashMap;

use bytes::Bytes;

use super::failed::Failed;
use super::input::{Inputs, is_stdin};
use crate::exec::commands::Call;
use crate::fs::Errno;

/// How far each file of `R` is read.
#[derive(Default)]
pub(super) struct Reads {
    open: HashMap<String, (Bytes, usize)>,
}

impl Reads {
    /// A new file begins: all are read from their beginning.
    pub(super) fn rewind(&mut self) {
        for (_, at) in self.open.values_mut() {
            *at = 0;
        }
    }

    /// All of a file; nothing of one that cannot be opened.
    pub(super) fn all(call: &Call<'_>, name: &str) -> Result<Bytes, Failed> {
        match call.files.read(&call.path(name)) {
            Ok(data) => Ok(data),
            Err(Errno::EISDIR) => Err(Failed::new(4, format!("read error on {name}: {}", Errno::EISDIR))),
            Err(_) => Ok(Bytes::new()),
        }
    }

    /// The next line of a file, and whether it has an end; `None` if there is none.
    pub(super) fn line(
        &mut self,
        call: &Call<'_>,
        inputs: &mut Inputs<'_>,
        name: &str,
        end: u8,
    ) -> Result<Option<(Vec<u8>, bool)>, Failed> {
        if is_stdin(&call.path(name)) {
            return Ok(part(inputs.stdin_line(), end).map(|(line, ended, _)| (line, ended)));
        }
        if !self.open.contains_key(name) {
            self.open.insert(name.to_owned(), (Self::all(call, name)?, 0));
        }
        let Some((data, at)) = self.open.get_mut(name) else { return Ok(None) };
        Ok(part(&data[*at..], end).map(|(line, ended, taken)| {
            *at += taken;
            (line, ended)
        }))
    }
}

/// The first line, whether it has an end, and how many bytes it takes.
fn part(data: &[u8], end: u8) -> Option<(Vec<u8>, bool, usize)> {
    if data.is_empty() {
        return None;
    }
    Some(match memchr::memchr(end, data) {
        Some(len) => (data[..len].to_vec(), true, len + 1),
        None => (data.to_vec(), false, data.len()),
    })
}
