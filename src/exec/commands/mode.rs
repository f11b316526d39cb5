//! Modes as chmod(1) takes them: `755`, `u+x,go=rX`.

/// The mode after the change; `None` when the text is none. `umask` is what a clause
/// that names nobody leaves alone.
pub(crate) fn change(text: &str, old: u32, dir: bool, umask: u32) -> Option<u32> {
    if !text.is_empty() && text.bytes().all(|byte| (b'0'..b'8').contains(&byte)) {
        return u32::from_str_radix(text, 8).ok().filter(|mode| *mode <= 0o7777);
    }
    let mut mode = old;
    for clause in text.split(',') {
        let end = clause.find(|c| !"ugoa".contains(c))?;
        let (who, mut rest) = clause.split_at(end);
        let users = who.chars().fold(0, |bits, c| bits | bits_of(c));
        while !rest.is_empty() {
            let sign = rest.chars().next().filter(|c| "+-=".contains(*c))?;
            rest = &rest[1..];
            let end = rest.find(['+', '-', '=']).unwrap_or(rest.len());
            let (letters, next) = rest.split_at(end);
            rest = next;
            mode = apply(mode, users, sign, letters, dir, umask)?;
        }
        if end == clause.len() {
            return None;
        }
    }
    Some(mode)
}

fn bits_of(user: char) -> u32 {
    match user {
        'u' => 0o4700,
        'g' => 0o2070,
        'o' => 0o1007,
        _ => 0o7777,
    }
}

fn apply(mode: u32, users: u32, sign: char, letters: &str, dir: bool, umask: u32) -> Option<u32> {
    let mut wanted = 0;
    for letter in letters.chars() {
        wanted |= match letter {
            'r' => 0o444,
            'w' => 0o222,
            'x' => 0o111,
            'X' if dir || mode & 0o111 != 0 => 0o111,
            'X' => 0,
            's' => 0o6000,
            't' => 0o1000,
            'u' => (mode >> 6 & 7) * 0o111,
            'g' => (mode >> 3 & 7) * 0o111,
            'o' => (mode & 7) * 0o111,
            _ => return None,
        };
    }
    let (affected, wanted) = if users == 0 { (0o7777, wanted & !umask) } else { (users, wanted & users) };
    Some(match sign {
        '+' => mode | wanted,
        '-' => mode & !wanted,
        // Set-user-ID and set-group-ID of a directory stay.
        _ => mode & !(affected & if dir { 0o1777 } else { 0o7777 }) | wanted,
    })
}

#[cfg(test)]
mod tests {
    use super::change;

    #[test]
    fn clauses_change_what_they_name() {
        let changed = |text, old| change(text, old, false, 0o022);
        assert_eq!(changed("755", 0), Some(0o755));
        assert_eq!(changed("u+x", 0o644), Some(0o744));
        assert_eq!(changed("+x", 0o644), Some(0o755));
        assert_eq!(changed("go-r,u=rwx", 0o644), Some(0o700));
        assert_eq!(changed("a=rX", 0o744), Some(0o555));
        assert_eq!(changed("g=u", 0o640), Some(0o660));
        assert_eq!(changed("+w", 0o444), Some(0o644));
        for wrong in ["xyz", "u", "99", "17777", "", "u+q"] {
            assert_eq!(changed(wrong, 0), None, "{wrong}");
        }
    }
}
