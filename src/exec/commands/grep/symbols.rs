//! Patterns as characters, with the bytes that are none.

/// A sign of a pattern.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Sign {
    Char(char),
    /// A byte that is not part of a character.
    Byte(u8),
}

/// The signs of a pattern.
pub(super) fn signs(pattern: &[u8]) -> Vec<Sign> {
    let mut signs = Vec::with_capacity(pattern.len());
    for chunk in pattern.utf8_chunks() {
        signs.extend(chunk.valid().chars().map(Sign::Char));
        signs.extend(chunk.invalid().iter().copied().map(Sign::Byte));
    }
    signs
}

/// Appends what matches this sign and nothing else.
pub(super) fn literal(sign: Sign, out: &mut String) {
    match sign {
        Sign::Char(char) => {
            if regex_syntax::is_meta_character(char) {
                out.push('\\');
            }
            out.push(char);
        }
        Sign::Byte(byte) => out.push_str(&format!("(?-u:\\x{byte:02X})")),
    }
}
