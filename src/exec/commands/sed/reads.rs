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

    /// The next line of a file with its end, if it has one; `None` if there is none.
    pub(super) fn line(
        &mut self,
        call: &Call<'_>,
        inputs: &mut Inputs<'_>,
        name: &str,
        end: u8,
    ) -> Result<Option<Vec<u8>>, Failed> {
        if is_stdin(&call.path(name)) {
            return Ok(Some(inputs.stdin_line().to_vec()).filter(|line| !line.is_empty()));
        }
        if !self.open.contains_key(name) {
            self.open.insert(name.to_owned(), (Self::all(call, name)?, 0));
        }
        let Some((data, at)) = self.open.get_mut(name) else { return Ok(None) };
        let rest = &data[*at..];
        let len = memchr::memchr(end, rest).map_or(rest.len(), |len| len + 1);
        *at += len;
        Ok(Some(rest[..len].to_vec()).filter(|line| !line.is_empty()))
    }
}
