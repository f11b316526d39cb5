//! The patterns of `-x` and of `find`: fnmatch(3) on whole names, a slash being as any other
//! sign. Read once, for many names.

/// Whether `name` matches `pattern`.
pub(super) fn matches(pattern: &str, name: &str) -> bool {
    Pattern::new(pattern, false).matches(name)
}

/// A pattern that was read: `*`, `?`, `[a-z]`, `[!a-z]`, `[[:alpha:]]`, `\` before a sign that
/// stands for itself.
#[derive(Debug)]
pub(super) struct Pattern {
    form: Form,
    fold: bool,
}

/// What most patterns are needs no search sign by sign.
#[derive(Debug)]
enum Form {
    Exact(String),
    /// `head*tail`
    Star(String, String),
    /// `*part*`
    Within(String),
    Elements(Vec<Element>),
    Nothing,
}

#[derive(Debug)]
enum Element {
    Star,
    Any,
    Sign(char),
    Set(Set),
}

#[derive(Debug)]
struct Set {
    negated: bool,
    ranges: Vec<(char, char)>,
    classes: Vec<fn(char) -> bool>,
}

impl Pattern {
    /// With `fold`, small and capital letters are the same.
    pub(super) fn new(pattern: &str, fold: bool) -> Self {
        let Some(elements) = read(pattern, fold) else { return Self { form: Form::Nothing, fold } };
        let signs = |elements: &[Element]| -> Option<String> {
            elements
                .iter()
                .map(|element| if let Element::Sign(sign) = element { Some(*sign) } else { None })
                .collect()
        };
        let plain = |elements: &[Element]| -> Option<Form> {
            match elements {
                [Element::Star, part @ .., Element::Star] if !part.is_empty() => {
                    signs(part).map(Form::Within)
                }
                _ => match elements.iter().position(|element| matches!(element, Element::Star)) {
                    None => signs(elements).map(Form::Exact),
                    Some(at) => Some(Form::Star(signs(&elements[..at])?, signs(&elements[at + 1..])?)),
                },
            }
        };
        let form = plain(&elements).unwrap_or(Form::Elements(elements));
        Self { form, fold }
    }

    /// Whether all of `name` is what the pattern says.
    pub(super) fn matches(&self, name: &str) -> bool {
        if self.fold {
            return self.is(&name.chars().map(folded).collect::<String>());
        }
        self.is(name)
    }

    fn is(&self, name: &str) -> bool {
        match &self.form {
            Form::Exact(text) => name == text,
            Form::Star(head, tail) => {
                name.len() >= head.len() + tail.len() && name.starts_with(head) && name.ends_with(tail)
            }
            Form::Within(part) => name.contains(part),
            Form::Elements(elements) => search(elements, name),
            Form::Nothing => false,
        }
    }
}

fn folded(sign: char) -> char {
    sign.to_lowercase().next().unwrap_or(sign)
}

fn search(elements: &[Element], name: &str) -> bool {
    let (mut at, mut rest) = (0, name);
    // Where to go on when a sign does not match: behind the last star, one sign later.
    let mut star: Option<(usize, &str)> = None;
    loop {
        match (elements.get(at), rest.chars().next()) {
            (None, None) => return true,
            (Some(Element::Star), _) => {
                at += 1;
                star = Some((at, rest));
                continue;
            }
            (Some(element), Some(sign)) if element.is(sign) => {
                at += 1;
                rest = &rest[sign.len_utf8()..];
                continue;
            }
            _ => {}
        }
        let Some((behind, from)) = star else { return false };
        let Some(skipped) = from.chars().next() else { return false };
        let from = &from[skipped.len_utf8()..];
        star = Some((behind, from));
        (at, rest) = (behind, from);
    }
}

impl Element {
    fn is(&self, sign: char) -> bool {
        match self {
            Self::Star => false,
            Self::Any => true,
            Self::Sign(own) => *own == sign,
            Self::Set(set) => {
                let within = set.ranges.iter().any(|(low, high)| (*low..=*high).contains(&sign))
                    || set.classes.iter().any(|class| class(sign));
                within != set.negated
            }
        }
    }
}

/// `None`: it matches nothing, as the backslash at its end stands before no sign.
fn read(pattern: &str, fold: bool) -> Option<Vec<Element>> {
    let fold = |sign: char| if fold { folded(sign) } else { sign };
    let signs: Vec<char> = pattern.chars().collect();
    let (mut at, mut elements) = (0, Vec::new());
    while let Some(&sign) = signs.get(at) {
        at += 1;
        elements.push(match sign {
            '*' => {
                if matches!(elements.last(), Some(Element::Star)) {
                    continue;
                }
                Element::Star
            }
            '?' => Element::Any,
            '\\' => {
                let escaped = *signs.get(at)?;
                at += 1;
                Element::Sign(fold(escaped))
            }
            '[' => match set(&signs[at..], fold) {
                Some((set, width)) => {
                    at += width;
                    Element::Set(set)
                }
                None => Element::Sign('['),
            },
            sign => Element::Sign(fold(sign)),
        });
    }
    Some(elements)
}

/// The set whose inside `signs` starts with, and its length with the bracket that closes it.
fn set(signs: &[char], fold: impl Fn(char) -> char) -> Option<(Set, usize)> {
    let negated = matches!(signs.first(), Some('!' | '^'));
    let first = usize::from(negated);
    let mut set = Set { negated, ranges: Vec::new(), classes: Vec::new() };
    let mut at = first;
    loop {
        let mut low = *signs.get(at)?;
        if low == ']' && at > first {
            return Some((set, at + 1));
        }
        at += 1;
        if low == '[' && signs.get(at) == Some(&':') {
            let end = signs[at + 1..].windows(2).position(|pair| pair == [':', ']']);
            if let Some(end) = end {
                let name: String = signs[at + 1..at + 1 + end].iter().collect();
                set.classes.push(class(&name)?);
                at += end + 3;
                continue;
            }
        }
        if low == '\\' {
            low = *signs.get(at)?;
            at += 1;
        }
        let mut high = low;
        if signs.get(at) == Some(&'-') && signs.get(at + 1).is_some_and(|&sign| sign != ']') {
            high = signs[at + 1];
            at += 2;
            if high == '\\' {
                high = *signs.get(at)?;
                at += 1;
            }
        }
        set.ranges.push((fold(low), fold(high)));
    }
}

fn class(name: &str) -> Option<fn(char) -> bool> {
    Some(match name {
        "alpha" => char::is_alphabetic,
        "digit" => |sign| sign.is_ascii_digit(),
        "alnum" => char::is_alphanumeric,
        "upper" => char::is_uppercase,
        "lower" => char::is_lowercase,
        "space" => char::is_whitespace,
        "blank" => |sign| sign == ' ' || sign == '\t',
        "punct" => |sign| sign.is_ascii_punctuation(),
        "xdigit" => |sign| sign.is_ascii_hexdigit(),
        "cntrl" => char::is_control,
        "print" => |sign| !sign.is_control(),
        "graph" => |sign| !sign.is_control() && !sign.is_whitespace(),
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::{Pattern, matches};

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
            ("*ab*", "xabx"),
            ("a*a", "aa"),
            ("**x**", "x"),
            ("[[:digit:][:upper:]]?", "7é"),
            ("[\\]]", "]"),
            ("[a\\-c]", "-"),
            ("a[b", "a[b"),
        ] {
            assert!(matches(pattern, name), "{pattern} {name}");
        }
        for (pattern, name) in [
            ("*.o", "a.oo"),
            ("?", ""),
            ("[a-c]", "d"),
            ("[!a]", "a"),
            ("a*b", "ac"),
            ("", "x"),
            ("a*a", "a"),
            ("a\\", "a\\"),
            ("[[:digit:]]", "x"),
        ] {
            assert!(!matches(pattern, name), "{pattern} {name}");
        }
        let folded = Pattern::new("*[A-C]É?.TXT", true);
        assert!(folded.matches("xbé1.txt") && !folded.matches("xdé1.txt"));
    }
}
