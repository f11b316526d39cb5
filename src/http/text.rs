//! Output bytes as JSON text.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;

use super::error::{ApiError, ApiResult};
use super::json::Fields;

/// How output bytes become text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Encoding {
    /// As UTF-8; bytes that are none become U+FFFD.
    #[default]
    Utf8,
    /// As base64, byte-exact.
    Base64,
}

impl Encoding {
    /// The field `encoding`.
    pub fn of(fields: &mut Fields) -> ApiResult<Self> {
        match fields.text("encoding")?.as_deref() {
            None | Some("utf8") => Ok(Self::Utf8),
            Some("base64") => Ok(Self::Base64),
            Some(other) => {
                Err(ApiError::invalid(format!("encoding: expected utf8 or base64, got {other:?}")))
            }
        }
    }

    /// Whole output as text; the flag says whether bytes were replaced. A character
    /// that a cut-off (`truncated`) left incomplete at the end is dropped.
    #[must_use]
    pub fn whole(self, mut bytes: Vec<u8>, truncated: bool) -> (String, bool) {
        if self == Self::Base64 {
            return (BASE64.encode(bytes), false);
        }
        if truncated {
            bytes.truncate(bytes.len() - incomplete_tail(&bytes));
        }
        match String::from_utf8(bytes) {
            Ok(text) => (text, false),
            Err(error) => (String::from_utf8_lossy(error.as_bytes()).into_owned(), true),
        }
    }
}

/// Bytes at the end that begin a character without completing it: 0 to 3.
fn incomplete_tail(bytes: &[u8]) -> usize {
    let tail = &bytes[bytes.len().saturating_sub(3)..];
    (0..tail.len())
        .find(|&at| matches!(std::str::from_utf8(&tail[at..]), Err(e) if e.valid_up_to() == 0 && e.error_len().is_none()))
        .map_or(0, |at| tail.len() - at)
}

/// One stream of live output as text: whole characters only, what is incomplete waits
/// for the next piece.
#[derive(Debug, Default)]
pub struct LiveText {
    waiting: Vec<u8>,
    replaced: bool,
}

impl LiveText {
    /// Adds a piece; returns what can be sent now, possibly nothing.
    pub fn push(&mut self, data: &[u8]) -> String {
        self.waiting.extend_from_slice(data);
        let ready = self.waiting.len() - incomplete_tail(&self.waiting);
        let text = self.lossy(ready);
        self.waiting.drain(..ready);
        text
    }

    /// What still waits at the end of the stream.
    pub fn finish(&mut self) -> String {
        let text = self.lossy(self.waiting.len());
        self.waiting.clear();
        text
    }

    /// Whether bytes that are no UTF-8 were replaced.
    #[must_use]
    pub fn replaced(&self) -> bool {
        self.replaced
    }

    fn lossy(&mut self, to: usize) -> String {
        match String::from_utf8_lossy(&self.waiting[..to]) {
            std::borrow::Cow::Borrowed(text) => text.to_owned(),
            std::borrow::Cow::Owned(text) => {
                self.replaced = true;
                text
            }
        }
    }
}

/// The warning for replaced bytes.
#[must_use]
pub fn replaced_warning(stream: &str) -> String {
    format!(
        "{stream} holds bytes that are not UTF-8; they were replaced by U+FFFD (encoding: base64 keeps them)"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn live_text_never_splits_a_character() {
        let text = "aé€😀z\u{10ffff}";
        for size in 1..=5 {
            let mut live = LiveText::default();
            let mut out = String::new();
            for piece in text.as_bytes().chunks(size) {
                let sent = live.push(piece);
                assert!(!sent.contains('\u{fffd}'), "pieces of {size}");
                out += &sent;
            }
            assert_eq!(out + &live.finish(), text);
            assert!(!live.replaced());
        }
    }

    #[test]
    fn live_text_replaces_what_is_no_text_and_waits_for_nothing_else() {
        let mut live = LiveText::default();
        assert_eq!(live.push(b"a\xff"), "a\u{fffd}");
        assert_eq!(live.push(b"\xe2\x82"), "", "may become a character");
        assert_eq!(live.push(b"z"), "\u{fffd}z");
        assert_eq!(live.push(b"\xf0"), "");
        assert_eq!(live.finish(), "\u{fffd}");
        assert!(live.replaced());
    }

    #[test]
    fn whole_output() {
        let euro = "x€".as_bytes().to_vec();
        assert_eq!(Encoding::Utf8.whole(euro.clone(), false), ("x€".into(), false));
        assert_eq!(Encoding::Utf8.whole(euro[..3].to_vec(), true), ("x".into(), false), "cut by the limit");
        assert_eq!(Encoding::Utf8.whole(euro[..3].to_vec(), false), ("x\u{fffd}".into(), true));
        assert_eq!(Encoding::Base64.whole(vec![0xff], false), ("/w==".into(), false));
        assert_eq!(Encoding::Utf8.whole(Vec::new(), true), (String::new(), false));
    }
}
