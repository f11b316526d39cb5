//! Names of pieces: `xaa`, `xab`, …

/// The letters that suffixes are made of.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Alphabet {
    Letters,
    Decimal,
    Hexadecimal,
}

impl Alphabet {
    pub(super) fn signs(self) -> &'static [u8] {
        match self {
            Self::Letters => b"abcdefghijklmnopqrstuvwxyz",
            Self::Decimal => b"0123456789",
            Self::Hexadecimal => b"0123456789abcdef",
        }
    }
}

/// All names, one after the other.
#[derive(Clone)]
pub(super) struct Names<'a> {
    pub(super) prefix: String,
    pub(super) signs: &'static [u8],
    /// Of the next name, the first sign first: indices of `signs`.
    pub(super) next: Vec<usize>,
    /// Whether suffixes become longer before the last one of a length is used.
    pub(super) grows: bool,
    pub(super) after: &'a str,
    pub(super) ended: bool,
}

impl Names<'_> {
    /// The next name; `None` when there are no more.
    pub(super) fn next(&mut self) -> Option<String> {
        if self.ended {
            return None;
        }
        let suffix: String = self.next.iter().map(|&index| char::from(self.signs[index])).collect();
        let name = format!("{}{suffix}{}", self.prefix, self.after);
        self.advance();
        Some(name)
    }

    fn advance(&mut self) {
        let last = self.signs.len() - 1;
        for at in (0..self.next.len()).rev() {
            let full = self.next[at] == last;
            self.next[at] = if full { 0 } else { self.next[at] + 1 };
            if !full {
                // So that longer names come later in order, they begin with the last sign.
                if self.grows && at == 0 && self.next[0] == last {
                    self.prefix.push(char::from(self.signs[last]));
                    self.next = vec![0; self.next.len() + 1];
                }
                return;
            }
        }
        self.ended = true;
    }
}
