//! `l`: a line with nothing that a terminal would not show.

use std::io::Write as _;

/// The line without its end. Parts are at most `width` wide and end with `end`; 0 parts nothing.
pub(super) fn list(line: &[u8], width: usize, end: u8) -> Vec<u8> {
    let mut out = Vec::with_capacity(line.len() + 1);
    let (mut column, most) = (0, width.saturating_sub(1));
    let mut sign = Vec::new();
    for &byte in line {
        sign.clear();
        match byte {
            b'\\' => sign.extend(b"\\\\"),
            0x07 => sign.extend(b"\\a"),
            0x08 => sign.extend(b"\\b"),
            0x0b => sign.extend(b"\\v"),
            0x0c => sign.extend(b"\\f"),
            b'\n' => sign.extend(b"\\n"),
            b'\r' => sign.extend(b"\\r"),
            b'\t' => sign.extend(b"\\t"),
            b' '..=b'~' => sign.push(byte),
            _ => {
                // Writing to memory does not fail.
                let _ = write!(sign, "\\{byte:03o}");
            }
        }
        if width > 0 && column + sign.len() > most {
            out.extend([b'\\', end]);
            column = 0;
        }
        column += sign.len();
        out.extend_from_slice(&sign);
    }
    out.push(b'$');
    out
}
