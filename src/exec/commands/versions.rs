//! Version order of names, as of `ls -v`: numbers in them compare as numbers.

use std::cmp::Ordering;

/// Compares two names.
pub(super) fn compare(a: &[u8], b: &[u8]) -> Ordering {
    let rank = |name: &[u8]| match name {
        b"" => 0,
        b"." => 1,
        b".." => 2,
        [b'.', ..] => 3,
        _ => 4,
    };
    rank(a).cmp(&rank(b)).then_with(|| {
        let (stem_a, stem_b) = (&a[..stem(a)], &b[..stem(b)]);
        if stem_a == stem_b { parts(a, b) } else { parts(stem_a, stem_b).then_with(|| parts(a, b)) }
    })
}

/// Length without the suffixes `(\.[A-Za-z~][A-Za-z0-9~]*)*` at the end.
fn stem(name: &[u8]) -> usize {
    let mut end = name.len();
    while let Some(dot) = name[..end].iter().rposition(|&byte| byte == b'.') {
        let suffix = &name[dot + 1..end];
        let starts = suffix.first().is_some_and(|&byte| byte.is_ascii_alphabetic() || byte == b'~');
        let fits = starts && suffix.iter().all(|&byte| byte.is_ascii_alphanumeric() || byte == b'~');
        if !fits || dot == 0 {
            break;
        }
        end = dot;
    }
    end
}

/// Letters come before other signs, the end before both, `~` before the end.
fn weight(byte: Option<u8>) -> i32 {
    match byte {
        None => -1,
        Some(b'~') => -2,
        Some(byte) if byte.is_ascii_digit() => 0,
        Some(byte) if byte.is_ascii_alphabetic() => i32::from(byte),
        Some(byte) => i32::from(byte) + 256,
    }
}

fn parts(a: &[u8], b: &[u8]) -> Ordering {
    let (mut i, mut j) = (0, 0);
    let digit = |text: &[u8], at: usize| text.get(at).is_some_and(u8::is_ascii_digit);
    while i < a.len() || j < b.len() {
        while (i < a.len() && !digit(a, i)) || (j < b.len() && !digit(b, j)) {
            let order = weight(a.get(i).copied()).cmp(&weight(b.get(j).copied()));
            if order != Ordering::Equal {
                return order;
            }
            i += 1;
            j += 1;
        }
        let run = |text: &[u8], at: &mut usize| {
            let start = *at;
            while digit(text, *at) {
                *at += 1;
            }
            let zeros = text[start..*at].iter().take_while(|&&byte| byte == b'0').count();
            text[start + zeros..*at].to_vec()
        };
        let (left, right) = (run(a, &mut i), run(b, &mut j));
        let order = left.len().cmp(&right.len()).then_with(|| left.cmp(&right));
        if order != Ordering::Equal {
            return order;
        }
    }
    Ordering::Equal
}
