//! Replies have an end: text is cut to a budget, at characters, and says so.
//!
//! A budget counts bytes as they stand in JSON, where a control character takes six. It
//! holds for one text; a reply carries its texts twice, once to read and once as data.

/// Bytes that a character takes within a JSON string.
fn wire(c: char) -> usize {
    match c {
        '"' | '\\' | '\n' | '\r' | '\t' | '\u{8}' | '\u{c}' => 2,
        '\0'..='\u{1f}' => 6,
        c => c.len_utf8(),
    }
}

/// The length of the longest beginning within `budget`.
#[must_use]
pub fn head(text: &str, budget: usize) -> usize {
    fitting(text.chars(), budget)
}

/// The length of the longest end within `budget`.
#[must_use]
pub fn tail(text: &str, budget: usize) -> usize {
    fitting(text.chars().rev(), budget)
}

fn fitting(chars: impl Iterator<Item = char>, budget: usize) -> usize {
    let (mut left, mut length) = (budget, 0);
    for c in chars {
        match left.checked_sub(wire(c)) {
            Some(rest) => left = rest,
            None => break,
        }
        length += c.len_utf8();
    }
    length
}

/// Output of a script within `budget`: its beginning and its end, where errors stand, and
/// between them how much is missing and how to see it. `None` when all of it fits.
#[must_use]
pub fn clip(text: &str, budget: usize) -> Option<String> {
    if head(text, budget) == text.len() {
        return None;
    }
    let first = head(text, budget / 4 * 3);
    let last = text.len() - tail(&text[first..], budget / 4);
    let missing = last - first;
    Some(format!(
        "{}\n[… {missing} of {} bytes are left out here. To see them, run it again with the output in a file, \
         such as > /tmp/out, and page that with file_read; or narrow it with grep, head or sed -n …]\n{}",
        &text[..first],
        text.len(),
        &text[last..]
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wire_is_what_json_takes() {
        for text in ["a", "é", "😀", "\"", "\\", "\n", "\r", "\t", "\0", "\u{1f}", "\u{7f}", "\u{8}", "\u{c}"]
        {
            let written = serde_json::to_string(text).unwrap().len() - 2;
            assert_eq!(text.chars().map(wire).sum::<usize>(), written, "{text:?}");
        }
    }

    #[test]
    fn cuts_are_at_characters_and_within_the_budget() {
        assert_eq!((head("aé€", 2), head("aé€", 3), head("aé€", 5), head("aé€", 6)), (1, 3, 3, 6));
        assert_eq!((tail("aé€", 2), tail("aé€", 3), tail("aé€", 6)), (0, 3, 6));
        assert_eq!(clip("short", 100), None);
        assert_eq!(clip(&"a".repeat(100), 100), None);
        let text: String = (0..50_000).map(|i| char::from(b'a' + (i % 26) as u8)).collect();
        let cut = clip(&text, 1000).unwrap();
        assert!(cut.starts_with(&text[..750]) && cut.ends_with(&text[text.len() - 250..]));
        assert!(cut.contains("[… 49000 of 50000 bytes are left out here."));
        let control = clip(&"\u{1}".repeat(1000), 1200).unwrap();
        assert!(serde_json::to_string(&control).unwrap().len() < 1200 + 400, "{}", control.len());
    }
}
