//! Classes of characters, in the words that crate `regex` has for what stands in brackets. They
//! are glibc's in a UTF-8 locale, character by character, but for those that are younger than
//! glibc's own table: digits of other scripts are letters, spaces that do not break a line are no
//! white space but marks that are seen.

/// Letters and digits.
const ALNUM: &str = r"\p{Alphabetic}\p{Nd}";
const BLANK: &str = r"\t \x{1680}\x{2000}-\x{2006}\x{2008}-\x{200A}\x{205F}\x{3000}";
/// What is seen.
const GRAPH: &str = r"[^\p{Cc}\p{Cn}\p{Z}]\x{A0}\x{2007}\x{202F}";
const PUNCT: &str = r"[[^\p{Cc}\p{Cn}\p{Z}]\x{A0}\x{2007}\x{202F}--[\p{Alphabetic}\p{Nd}]]";
/// `[:space:]` and `\s`
pub(super) const SPACE: &str =
    r"\t-\r \x{1680}\x{2000}-\x{2006}\x{2008}-\x{200A}\x{2028}\x{2029}\x{205F}\x{3000}";
/// `\w`
pub(super) const WORD: &str = r"\p{Alphabetic}\p{Nd}_";

/// What a class holds; `None`: there is no such class.
pub(super) fn class(name: &[u8]) -> Option<&'static str> {
    Some(match name {
        b"alpha" => r"\p{Alphabetic}[\p{Nd}--0-9]",
        b"digit" => "0-9",
        b"alnum" => ALNUM,
        b"upper" => r"\p{Uppercase}\p{Lt}",
        // Of the letters that are both, these are lower too.
        b"lower" => r"\p{Lowercase}\x{1C5}\x{1C8}\x{1CB}\x{1F2}",
        b"space" => SPACE,
        b"blank" => BLANK,
        b"punct" => PUNCT,
        b"print" => r"[^\p{Cc}\p{Cn}\p{Z}]\p{Zs}",
        b"graph" => GRAPH,
        b"cntrl" => r"\p{Cc}\p{Zl}\p{Zp}",
        b"xdigit" => "0-9A-Fa-f",
        _ => return None,
    })
}
