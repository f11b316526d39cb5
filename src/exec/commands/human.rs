//! Sizes for people: as coreutils print them, rounded up (`4.0K`, `12M`), and their units as they
//! are read.

/// `bytes` in powers of `base` (1000 or 1024).
pub(super) fn size(bytes: u64, base: u64) -> String {
    const LETTERS: [char; 6] = ['K', 'M', 'G', 'T', 'P', 'E'];
    if bytes < base {
        return bytes.to_string();
    }
    let (mut unit, mut power) = (u128::from(base), 0);
    let bytes = u128::from(bytes);
    loop {
        let tenths = (bytes * 10).div_ceil(unit);
        let whole = bytes.div_ceil(unit);
        let last = power + 1 == LETTERS.len();
        let letter = if base == 1000 && power == 0 { 'k' } else { LETTERS[power] };
        if tenths < 100 {
            return format!("{}.{}{letter}", tenths / 10, tenths % 10);
        }
        if whole < u128::from(base) || last {
            return format!("{whole}{letter}");
        }
        unit *= u128::from(base);
        power += 1;
    }
}

/// What a unit of a size stands for: `K`, `MB`, `GiB`, `b`; 1 without one. Of small letters only `k`
/// and `m` are units. `None`: there is no such unit.
pub(super) fn factor(unit: &str) -> Option<u128> {
    let (letter, rest) = match unit.as_bytes() {
        [] => return Some(1),
        b"b" => return Some(512),
        [letter, rest @ ..] => (*letter, rest),
    };
    let letter = if matches!(letter, b'k' | b'm') { letter.to_ascii_uppercase() } else { letter };
    let power = b"KMGTPEZY".iter().position(|&known| known == letter)? as u32 + 1;
    match rest {
        b"" | b"iB" => Some(1024_u128.pow(power)),
        b"B" => Some(1000_u128.pow(power)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::size;

    #[test]
    fn sizes_are_rounded_up() {
        let shown: Vec<String> =
            [0, 1023, 1024, 1025, 10_188, 10_240, 10_241, 1_048_575, 1 << 20].map(|n| size(n, 1024)).into();
        assert_eq!(shown, ["0", "1023", "1.0K", "1.1K", "10K", "10K", "11K", "1.0M", "1.0M"]);
        assert_eq!(size(1500, 1000), "1.5k");
    }
}
