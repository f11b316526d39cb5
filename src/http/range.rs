//! `Range` of a file, one range only.

/// What part of a file is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// All of it: no range, or one that is not understood (RFC 9110 says to ignore it).
    Whole,
    /// `len` bytes (at least one) from `start`.
    Range {
        /// First byte.
        start: u64,
        /// Bytes.
        len: u64,
    },
    /// A range that lies outside.
    Outside,
}

/// Reads a `Range` header for a file of `size` bytes.
#[must_use]
pub fn part(header: Option<&str>, size: u64) -> Part {
    let Some(range) = header.and_then(|h| h.trim().strip_prefix("bytes=")) else { return Part::Whole };
    let Some((from, to)) = range.split_once('-') else { return Part::Whole };
    let (from, to) = (from.trim(), to.trim());
    let digits = |text: &str| {
        text.bytes().all(|b| b.is_ascii_digit()).then(|| text.parse::<u64>().unwrap_or(u64::MAX))
    };
    match (from.is_empty(), to.is_empty(), digits(from), digits(to)) {
        (true, false, _, Some(last)) => {
            let len = last.min(size);
            if len == 0 { Part::Outside } else { Part::Range { start: size - len, len } }
        }
        (false, open, Some(start), Some(end)) => {
            let end = if open { u64::MAX } else { end };
            if end < start {
                Part::Whole
            } else if start >= size {
                Part::Outside
            } else {
                Part::Range { start, len: end.min(size - 1) - start + 1 }
            }
        }
        _ => Part::Whole,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges() {
        let range = |start, len| Part::Range { start, len };
        for (header, size, expected) in [
            ("bytes=0-0", 10, range(0, 1)),
            ("bytes=2-4", 10, range(2, 3)),
            ("bytes=2-", 10, range(2, 8)),
            ("bytes=-3", 10, range(7, 3)),
            ("bytes=-99", 10, range(0, 10)),
            ("bytes=5-99", 10, range(5, 5)),
            ("bytes=0-99999999999999999999999", 10, range(0, 10)),
            ("bytes=10-", 10, Part::Outside),
            ("bytes=99999999999999999999999-", 10, Part::Outside),
            ("bytes=-0", 10, Part::Outside),
            ("bytes=0-", 0, Part::Outside),
            ("bytes=-1", 0, Part::Outside),
            ("bytes=4-2", 10, Part::Whole),
            ("bytes=0-1,3-4", 10, Part::Whole),
            ("bytes=-", 10, Part::Whole),
            ("bytes=+1-2", 10, Part::Whole),
            ("bytes=a-b", 10, Part::Whole),
            ("lines=1-2", 10, Part::Whole),
        ] {
            assert_eq!(part(Some(header), size), expected, "{header} of {size}");
        }
        assert_eq!(part(None, 10), Part::Whole);
    }
}
