//! What sizes are printed in.

use crate::exec::commands::human;

/// A unit.
pub(super) struct Unit {
    bytes: u64,
    suffix: String,
    /// The base of the powers that stand behind rounded numbers.
    human: Option<u64>,
}

impl Unit {
    pub(super) fn plain(bytes: u64) -> Self {
        Self { bytes, suffix: String::new(), human: None }
    }

    pub(super) fn human(base: u64) -> Self {
        Self { bytes: 1, suffix: String::new(), human: Some(base) }
    }

    pub(super) fn is_plain(&self) -> bool {
        self.human.is_none()
    }

    /// Reads one: `K` stands behind each number then, `1K` does not.
    pub(super) fn read(text: &str, option: &str) -> Result<Self, String> {
        match text {
            "human-readable" => return Ok(Self::human(1024)),
            "si" => return Ok(Self::human(1000)),
            _ => {}
        }
        let bytes = bytes(text, option, true)?;
        if bytes == 0 {
            return Err(format!("invalid {option} argument '{text}'"));
        }
        let mut suffix = String::new();
        if !text.starts_with(|char: char| char.is_ascii_digit()) {
            let decimal = text.len() > 1 && text.ends_with('B') && !text.ends_with("iB");
            suffix = text.to_owned();
            let first = match suffix.remove(0) {
                'K' | 'k' if decimal => 'k',
                letter => letter.to_ascii_uppercase(),
            };
            suffix.insert(0, first);
        }
        Ok(Self { bytes, suffix, human: None })
    }

    /// A number of bytes.
    pub(super) fn size(&self, bytes: u64) -> String {
        match self.human {
            Some(base) => human::size(bytes, base),
            None => format!("{}{}", bytes.div_ceil(self.bytes), self.suffix),
        }
    }

    /// A number of files.
    pub(super) fn count(&self, count: u64) -> String {
        match self.human {
            Some(base) => human::size(count, base),
            None => count.to_string(),
        }
    }
}

/// A size as of `1K`, `MB`, `2GiB`. The size of a block may have small letters, too, of which glibc
/// knows some and refuses the others in other words; 512 has no letter.
fn bytes(text: &str, option: &str, block: bool) -> Result<u64, String> {
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    let (number, unit) = text.split_at(digits);
    let known = if block { "KMGTPEZYkmgtpezy" } else { "KMGTPEZYkm" };
    if number.is_empty() && !unit.starts_with(|letter| known.contains(letter)) {
        return Err(format!("invalid {option} argument '{text}'"));
    }
    let factor = match unit.as_bytes() {
        [b'b'] => None,
        [letter @ (b'g' | b't'), ..] if block => {
            human::factor(&format!("{}{}", char::from(letter.to_ascii_uppercase()), &unit[1..]))
        }
        _ => human::factor(unit),
    };
    let factor = factor.ok_or_else(|| format!("invalid suffix in {option} argument '{text}'"))?;
    let number = if number.is_empty() { Ok(1) } else { number.parse::<u64>() };
    number
        .ok()
        .and_then(|number| u128::from(number).checked_mul(factor)?.try_into().ok())
        .ok_or_else(|| format!("{option} argument '{text}' too large"))
}

/// `-t`: whether it is the most that is shown, and the limit.
pub(super) fn threshold(text: &str, option: &str) -> Result<(bool, u64), String> {
    let (most, plain) = match text.strip_prefix('-') {
        Some(plain) => (true, plain),
        None => (false, text),
    };
    let limit = bytes(plain, option, false)
        .map_err(|message| message.replace(&format!("'{plain}'"), &format!("'{text}'")))?;
    if most && limit == 0 {
        return Err(format!("invalid --threshold argument '{text}'"));
    }
    Ok((most, limit))
}
