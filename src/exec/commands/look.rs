//! `look`, of util-linux: the lines that begin with a string.

use super::options::{self, Given, Spec, Takes};
use super::{Answer, Call};

const SPECS: &[Spec] = &[
    ('a', "alternative", Takes::Nothing),
    ('d', "alphanum", Takes::Nothing),
    ('f', "ignore-case", Takes::Nothing),
    ('t', "terminate", Takes::Argument),
];

/// Runs it.
pub(super) fn run(call: &Call<'_>) -> Answer {
    let mut answer = Answer::default();
    let Given { options, operands, .. } = match options::parse(call.args, SPECS) {
        Ok(given) => given,
        Err(message) => {
            answer.complain(1, format!("look: {message}"));
            return answer;
        }
    };
    let (file, word) = match operands[..] {
        [word, file] => (file, word),
        [word] => ("/usr/share/dict/words", word),
        _ => {
            answer.misused(1, "look", "bad usage");
            return answer;
        }
    };
    let data = match call.read(file) {
        Ok(data) => data,
        Err(errno) => {
            answer.complain(1, format!("look: {file}: {errno}"));
            return answer;
        }
    };
    let given = |wanted| options.iter().any(|(letter, _)| *letter == wanted);
    let (alphanumeric, fold) = (given('d') || operands.len() == 1, given('f') || operands.len() == 1);
    let end = options
        .iter()
        .rev()
        .find(|(letter, _)| *letter == 't')
        .and_then(|(_, value)| value.and_then(|v| v.bytes().next()));
    let key = |text: &[u8]| -> Vec<u8> {
        let kept = text.iter().filter(|byte| !alphanumeric || byte.is_ascii_alphanumeric() || **byte == b' ');
        kept.map(|byte| if fold { byte.to_ascii_lowercase() } else { *byte }).collect()
    };
    let word = key(match end.and_then(|end| word.bytes().position(|byte| byte == end)) {
        Some(at) => &word.as_bytes()[..=at],
        None => word.as_bytes(),
    });
    // The file is sorted: halves without the word are left aside.
    let lines: Vec<&[u8]> = data.split_inclusive(|&byte| byte == b'\n').collect();
    let cut = |line: &&[u8]| key(line.strip_suffix(b"\n").unwrap_or(line));
    let start = lines.partition_point(|line| cut(line) < word);
    answer.exit = 1;
    for line in lines[start..].iter().take_while(|line| cut(line).starts_with(&word)) {
        answer.exit = 0;
        answer.stdout.extend_from_slice(line);
    }
    answer
}
