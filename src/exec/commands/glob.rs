//! The patterns of `-x`: fnmatch(3) on one name.

/// Whether `name` matches `pattern`: `*`, `?`, `[a-z]`, `[!a-z]`, `\` before a sign
/// that stands for itself.
pub(super) fn matches(pattern: &str, name: &str) -> bool {
    let (pattern, name): (Vec<char>, Vec<char>) = (pattern.chars().collect(), name.chars().collect());
    let (mut p, mut n) = (0, 0);
    // Where to go on when a sign does not match: behind the last star, one sign later.
    let mut star = None;
    while n < name.len() || p < pattern.len() {
        if pattern.get(p) == Some(&'*') {
            star = Some((p, n));
            p += 1;
            continue;
        }
        if let Some(&sign) = name.get(n)
            && let Some(width) = one(&pattern[p..], sign)
        {
            p += width;
            n += 1;
            continue;
        }
        match star {
            Some((at, from)) if from < name.len() => {
                star = Some((at, from + 1));
                (p, n) = (at + 1, from + 1);
            }
            _ => return false,
        }
    }
    true
}

/// The length of the pattern's first element if it matches `sign`.
fn one(pattern: &[char], sign: char) -> Option<usize> {
    match pattern.first()? {
        '?' => Some(1),
        '\\' if pattern.len() > 1 => (pattern[1] == sign).then_some(2),
        '[' => match set(pattern, sign) {
            Some((true, width)) => Some(width),
            Some((false, _)) => None,
            None => (sign == '[').then_some(1),
        },
        &literal => (literal == sign).then_some(1),
    }
}

/// Whether `sign` is in the set that `pattern` starts with, and the set's length;
/// `None` if it is never closed.
fn set(pattern: &[char], sign: char) -> Option<(bool, usize)> {
    let negated = matches!(pattern.get(1), Some('!' | '^'));
    let first = 1 + usize::from(negated);
    let mut at = first;
    let mut found = false;
    loop {
        match *pattern.get(at)? {
            ']' if at > first => return Some((found != negated, at + 1)),
            low => {
                if pattern.get(at + 1) == Some(&'-') && pattern.get(at + 2).is_some_and(|&high| high != ']') {
                    found |= (low..=pattern[at + 2]).contains(&sign);
                    at += 3;
                } else {
                    found |= low == sign;
                    at += 1;
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::matches;

    #[test]
    fn patterns_match_whole_names() {
        for (pattern, name) in [
            ("*.o", "a.o"),
            ("*", ""),
            ("a*b*c", "axxbxbc"),
            ("?[a-c]", "xb"),
            ("[!a]", "b"),
            ("\\*", "*"),
            ("[", "["),
            ("[]x]", "]"),
        ] {
            assert!(matches(pattern, name), "{pattern} {name}");
        }
        for (pattern, name) in
            [("*.o", "a.oo"), ("?", ""), ("[a-c]", "d"), ("[!a]", "a"), ("a*b", "ac"), ("", "x")]
        {
            assert!(!matches(pattern, name), "{pattern} {name}");
        }
    }
}
