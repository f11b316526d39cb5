//! What commands over lines read, and where they write.

use std::ops::Deref;

use bytes::Bytes;

use super::{Answer, Call, new_name};
use crate::fs::{Errno, Kind};

/// The bytes that an operand names; standard input is not copied.
pub(super) enum Input<'a> {
    Borrowed(&'a [u8]),
    Owned(Bytes),
}

impl Deref for Input<'_> {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        match self {
            Self::Borrowed(data) => data,
            Self::Owned(data) => data,
        }
    }
}

/// As [`Call::read`], and without a copy.
pub(super) fn input<'a>(call: &Call<'a>, operand: &str) -> Result<Input<'a>, Errno> {
    if is_stdin(call, operand) {
        Ok(Input::Borrowed(call.stdin))
    } else {
        call.read(operand).map(Input::Owned)
    }
}

/// Whether an operand is standard input.
pub(super) fn is_stdin(call: &Call<'_>, operand: &str) -> bool {
    operand == "-" || matches!(call.path(operand).as_str(), "/dev/stdin" | "/dev/fd/0" | "/proc/self/fd/0")
}

/// What an operand names that is no file of the sandbox: standard input, or what was lent, as by a
/// process substitution.
pub(super) fn outside<'a>(call: &Call<'a>, operand: &str) -> Option<Input<'a>> {
    let lent = call.lent.get(operand).is_some_and(|lent| lent.stat.kind != Kind::Dir);
    if lent || is_stdin(call, operand) { input(call, operand).ok() } else { None }
}

/// Whether an operand is a descriptor of the script, which is a link.
pub(super) fn is_descriptor(operand: &str) -> bool {
    operand.starts_with("/dev/fd/") || operand == "/dev/stdin"
}

/// Writes all of a command's output to what an operand names.
pub(super) fn output(
    call: &Call<'_>,
    operand: &str,
    data: Vec<u8>,
    answer: &mut Answer,
) -> Result<(), Errno> {
    let path = call.path(new_name(operand)?);
    if path == "/dev/stdout" {
        answer.stdout = data;
        return Ok(());
    }
    call.files.write(&path, &data)
}

/// Records without what ends them; the last one may lack its end.
pub(super) fn records(data: &[u8], end: u8) -> impl Iterator<Item = &[u8]> + Clone {
    let whole = data.strip_suffix(&[end]).unwrap_or(data);
    let some = if data.is_empty() { 0 } else { usize::MAX };
    whole.split(move |&byte| byte == end).take(some)
}

/// What parts fields where no sign is given for it.
pub(super) fn is_blank(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\n')
}

#[cfg(test)]
mod tests {
    use super::records;

    #[test]
    fn records_end_or_not() {
        let parts = |text: &'static str| -> Vec<&[u8]> { records(text.as_bytes(), b'\n').collect() };
        assert!(parts("").is_empty());
        assert_eq!(parts("\n"), [b""]);
        assert_eq!(parts("a\n\nb"), [&b"a"[..], b"", b"b"]);
        assert_eq!(parts("a\n\n"), [&b"a"[..], b""]);
    }
}
