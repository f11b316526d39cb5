//! Characters in bytes that need not be text.

/// The character that bytes begin with, and how many it takes. `None` also at their end.
pub(crate) fn decode(bytes: &[u8]) -> Option<(char, usize)> {
    let first = *bytes.first()?;
    if first < 0x80 {
        return Some((char::from(first), 1));
    }
    let size = match first {
        0xc2..=0xdf => 2,
        0xe0..=0xef => 3,
        0xf0..=0xf4 => 4,
        _ => return None,
    };
    let text = std::str::from_utf8(bytes.get(..size)?).ok()?;
    text.chars().next().map(|char| (char, size))
}

/// How many bytes a step takes: a character, or one byte that is part of none.
pub(crate) fn step(bytes: &[u8]) -> usize {
    decode(bytes).map_or(1, |(_, size)| size)
}
