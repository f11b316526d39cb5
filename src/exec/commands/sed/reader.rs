//! A piece of a script, read byte by byte, and where in it something is wrong.

/// Where a piece comes from.
pub(super) enum Origin {
    /// The `-e` of that number.
    Expression(usize),
    File(String),
}

/// One `-e` or one file.
pub(super) struct Reader<'a> {
    origin: &'a Origin,
    text: &'a [u8],
    pub(super) at: usize,
}

impl<'a> Reader<'a> {
    pub(super) fn new(origin: &'a Origin, text: &'a [u8]) -> Self {
        Self { origin, text, at: 0 }
    }

    pub(super) fn next(&mut self) -> Option<u8> {
        let byte = self.peek()?;
        self.at += 1;
        Some(byte)
    }

    pub(super) fn peek(&self) -> Option<u8> {
        self.text.get(self.at).copied()
    }

    /// What is left.
    pub(super) fn rest(&self) -> &'a [u8] {
        &self.text[self.at..]
    }

    /// Goes on to what is neither space nor tab, but for the ends of lines.
    pub(super) fn skip_blanks(&mut self) {
        while self.peek().is_some_and(|byte| byte.is_ascii_whitespace() && byte != b'\n') {
            self.at += 1;
        }
    }

    /// The next byte that is not blank.
    pub(super) fn next_nonblank(&mut self) -> Option<u8> {
        self.skip_blanks();
        self.next()
    }

    /// Digits; too large a number is the largest.
    pub(super) fn number(&mut self) -> Option<u64> {
        let digits = self.rest().iter().take_while(|byte| byte.is_ascii_digit()).count();
        let text = std::str::from_utf8(&self.rest()[..digits]).ok()?;
        self.at += digits;
        (digits > 0).then(|| text.parse().unwrap_or(u64::MAX))
    }

    /// The rest of the line, blanks before it left out.
    pub(super) fn line(&mut self) -> &'a [u8] {
        self.skip_blanks();
        let rest = self.rest();
        let len = rest.iter().position(|&byte| byte == b'\n').unwrap_or(rest.len());
        self.at += len;
        &rest[..len]
    }

    /// A label: up to a blank, a semicolon or a brace.
    pub(super) fn label(&mut self) -> Vec<u8> {
        self.skip_blanks();
        let rest = self.rest();
        let ends = |&byte: &u8| byte.is_ascii_whitespace() || byte == b';' || byte == b'}';
        let len = rest.iter().position(ends).unwrap_or(rest.len());
        self.at += len;
        rest[..len].to_vec()
    }

    /// What is wrong, and here.
    pub(super) fn wrong(&self, message: impl std::fmt::Display) -> String {
        self.wrong_at(self.at, message)
    }

    /// What is wrong at a place, which is none if it is 0.
    pub(super) fn wrong_at(&self, at: usize, message: impl std::fmt::Display) -> String {
        match self.origin {
            Origin::Expression(number) => format!("-e expression #{number}, char {at}: {message}"),
            Origin::File(name) => {
                let line = self.text[..at].iter().filter(|&&byte| byte == b'\n').count() + 1;
                format!("file {name} line {line}: {message}")
            }
        }
    }
}
