//! `csplit`, as of GNU coreutils 9.1: a file in pieces, cut at lines or patterns. If it
//! fails, the pieces are not there, unless `-k` keeps them.

use super::options::{self, Given, HELP, Spec, Takes, VERSION};
use super::posix_regex::{GivenUp, Options, Regex, Syntax};
use super::{Answer, Call, new_name, quote};

const MATCHED: char = '\u{3}';

const SPECS: &[Spec] = &[
    ('b', "suffix-format", Takes::Argument),
    ('f', "prefix", Takes::Argument),
    ('k', "keep-files", Takes::Nothing),
    (MATCHED, "suppress-matched", Takes::Nothing),
    ('n', "digits", Takes::Argument),
    ('s', "quiet", Takes::Nothing),
    ('s', "silent", Takes::Nothing),
    ('z', "elide-empty-files", Takes::Nothing),
    (HELP, "help", Takes::Nothing),
    (VERSION, "version", Takes::Nothing),
];

const USAGE: &str = "\
Usage: csplit [OPTION]... FILE PATTERN...
Output pieces of FILE separated by PATTERN(s) to files 'xx00', 'xx01', ...,
and output byte counts of each piece to standard output.

  -b, --suffix-format=FORMAT  use sprintf FORMAT instead of %02d
  -f, --prefix=PREFIX        use PREFIX instead of 'xx'
  -k, --keep-files           do not remove output files on errors
      --suppress-matched     suppress the lines matching PATTERN
  -n, --digits=DIGITS        use specified number of digits instead of 2
  -s, --quiet, --silent      do not print counts of output file sizes
  -z, --elide-empty-files    suppress empty output files

Each PATTERN may be:
  INTEGER            copy up to but not including specified line number
  /REGEXP/[OFFSET]   copy up to but not including a matching line
  %REGEXP%[OFFSET]   skip to, but not including a matching line
  {INTEGER}          repeat the previous pattern specified number of times
  {*}                repeat the previous pattern as many times as possible
";

enum Cut {
    /// Before this line, counted from 1.
    Line(usize),
    /// So many lines after a match; whether what lies before becomes a piece.
    Match { regex: Regex, offset: i64, keep: bool },
}

struct Pattern<'a> {
    text: &'a str,
    cut: Cut,
    /// How often more; `None` as often as it goes.
    repeat: Option<usize>,
}

struct Pieces<'a> {
    call: &'a Call<'a>,
    lines: Vec<&'a [u8]>,
    /// The first line that is in no piece.
    at: usize,
    /// Where the next search for a pattern begins.
    search: usize,
    made: Vec<String>,
    prefix: &'a str,
    suffix: Suffix<'a>,
    quiet: bool,
    elide: bool,
    suppress: bool,
    answer: Answer,
}

/// Around the number of a piece.
struct Suffix<'a> {
    before: &'a str,
    width: usize,
    zeros: bool,
    form: char,
    after: &'a str,
}

/// Runs it.
pub(super) fn run(call: &Call<'_>) -> Answer {
    let mut answer = Answer::default();
    let Given { options: given, operands, .. } = match options::parse(call.args, SPECS) {
        Ok(given) => given,
        Err(message) => {
            answer.misused(1, "csplit", &message);
            return answer;
        }
    };
    let mut suffix = Suffix { before: "", width: 2, zeros: true, form: 'd', after: "" };
    let (mut prefix, mut keep, mut quiet, mut elide, mut suppress) = ("xx", false, false, false, false);
    for (letter, value) in given {
        let value = value.unwrap_or_default();
        match letter {
            'b' => match suffix_format(value) {
                Some(format) => suffix = format,
                None => {
                    answer.complain(1, format!("csplit: invalid suffix format: {}", quote::locale(value)));
                    return answer;
                }
            },
            'n' => match value.parse() {
                Ok(width @ 0..=100) => suffix = Suffix { width, ..suffix },
                _ => {
                    answer.complain(1, format!("csplit: invalid number: {}", quote::locale(value)));
                    return answer;
                }
            },
            'f' => prefix = value,
            'k' => keep = true,
            's' => quiet = true,
            'z' => elide = true,
            MATCHED => suppress = true,
            _ => {
                let text = if letter == HELP { USAGE } else { "csplit (sqlfs), after GNU coreutils 9.1\n" };
                answer.stdout.extend_from_slice(text.as_bytes());
                return answer;
            }
        }
    }
    let (file, words) = match operands[..] {
        [] => {
            answer.misused(1, "csplit", "missing operand");
            return answer;
        }
        [file] => {
            answer.misused(1, "csplit", &format!("missing operand after {}", quote::locale(file)));
            return answer;
        }
        [file, ref words @ ..] => (file, words),
    };
    let patterns = match patterns(words) {
        Ok(patterns) => patterns,
        Err(message) => {
            answer.complain(1, format!("csplit: {message}"));
            return answer;
        }
    };
    let data = match call.read(file) {
        Ok(data) => data,
        Err(errno) => {
            let name = quote::always(file);
            answer.complain(1, format!("csplit: cannot open {name} for reading: {errno}"));
            return answer;
        }
    };
    let lines = data.split_inclusive(|&byte| byte == b'\n').collect();
    let mut pieces = Pieces {
        call,
        lines,
        at: 0,
        search: 0,
        made: Vec::new(),
        prefix,
        suffix,
        quiet,
        elide,
        suppress,
        answer,
    };
    let mut done = patterns.iter().try_for_each(|pattern| pieces.cut(pattern));
    if done.is_ok() {
        let end = pieces.lines.len();
        done = pieces.piece(end).map_err(|message| (message, false));
    }
    if let Err((message, rest)) = done {
        // What was not cut is told, and kept by -k, as a last piece.
        if rest {
            let end = pieces.lines.len();
            let _ = pieces.piece(end);
        }
        pieces.answer.complain(1, format!("csplit: {message}"));
        if !keep {
            for name in &pieces.made {
                let _ = call.files.unlink(&call.path(name));
            }
        }
    }
    pieces.answer
}

impl Pieces<'_> {
    fn cut(&mut self, pattern: &Pattern<'_>) -> Result<(), (String, bool)> {
        let mut round = 0;
        while pattern.repeat.is_none_or(|repeat| round <= repeat) && !self.call.is_over() {
            let on_repetition = |what: &str| {
                let text = quote::locale(pattern.text);
                if round == 0 {
                    format!("{text}: {what}")
                } else {
                    format!("{text}: {what} on repetition {round}")
                }
            };
            match &pattern.cut {
                Cut::Line(line) => {
                    let to = line * (round + 1) - 1;
                    if to >= self.lines.len() {
                        return Err((on_repetition("line number out of range"), true));
                    }
                    self.piece(to.max(self.at)).map_err(|message| (message, false))?;
                    if self.suppress {
                        self.at += 1;
                    }
                    self.search = self.at;
                }
                Cut::Match { regex, offset, keep } => {
                    let found = self.found(regex);
                    let found =
                        found.map_err(|GivenUp| ("error in regular expression search".to_owned(), false))?;
                    let Some(line) = found else {
                        if pattern.repeat.is_none() {
                            return Ok(());
                        }
                        return Err((on_repetition("match not found"), *keep));
                    };
                    let to = i64::try_from(line).unwrap_or(i64::MAX).saturating_add(*offset);
                    let to = usize::try_from(to).ok().filter(|&to| to >= self.at && to <= self.lines.len());
                    let Some(to) = to else { return Err((on_repetition("line number out of range"), true)) };
                    if *keep {
                        self.piece(to).map_err(|message| (message, false))?;
                    } else {
                        self.at = to;
                    }
                    if self.suppress {
                        self.at += 1;
                    }
                    self.search = (line + 1).max(self.at);
                }
            }
            round += 1;
        }
        Ok(())
    }

    /// The next line that matches.
    fn found(&self, regex: &Regex) -> Result<Option<usize>, GivenUp> {
        for (number, line) in self.lines.iter().enumerate().skip(self.search) {
            if self.call.is_over() {
                break;
            }
            if regex.is_match(line.strip_suffix(b"\n").unwrap_or(line))? {
                return Ok(Some(number));
            }
        }
        Ok(None)
    }

    /// Makes a piece of the lines before `to`.
    fn piece(&mut self, to: usize) -> Result<(), String> {
        let data = self.lines[self.at.min(to)..to].concat();
        self.at = to;
        if data.is_empty() && self.elide {
            return Ok(());
        }
        let name = format!("{}{}", self.prefix, self.suffix.of(self.made.len()));
        let path = self.call.path(&name);
        new_name(&path)
            .and_then(|path| self.call.files.write(path, &data))
            .map_err(|errno| format!("{name}: {errno}"))?;
        self.made.push(name);
        if !self.quiet {
            self.answer.stdout.extend_from_slice(format!("{}\n", data.len()).as_bytes());
        }
        Ok(())
    }
}

impl Suffix<'_> {
    fn of(&self, number: usize) -> String {
        let digits = match self.form {
            'o' => format!("{number:o}"),
            'x' => format!("{number:x}"),
            'X' => format!("{number:X}"),
            _ => number.to_string(),
        };
        let fill = if self.zeros { '0' } else { ' ' };
        let missing = self.width.saturating_sub(digits.len());
        let filled: String = std::iter::repeat_n(fill, missing).collect();
        format!("{}{filled}{digits}{}", self.before, self.after)
    }
}

/// One conversion of a whole number, with text around it.
fn suffix_format(format: &str) -> Option<Suffix<'_>> {
    let (before, rest) = format.split_once('%')?;
    let end = rest.find(|char: char| !char.is_ascii_digit())?;
    let form = rest[end..].chars().next().filter(|form| "diuoxX".contains(*form))?;
    let (digits, after) = (&rest[..end], &rest[end + 1..]);
    if after.contains('%') {
        return None;
    }
    let width = if digits.is_empty() { 0 } else { digits.parse().ok().filter(|width| *width <= 200)? };
    Some(Suffix { before, width, zeros: digits.starts_with('0'), form, after })
}

fn patterns<'a>(words: &[&'a str]) -> Result<Vec<Pattern<'a>>, String> {
    let mut patterns: Vec<Pattern<'a>> = Vec::new();
    let mut last_line = 0;
    for &word in words {
        let cut = match word.chars().next() {
            Some(mark @ ('/' | '%')) => {
                let (text, offset) = word[1..]
                    .rsplit_once(mark)
                    .ok_or_else(|| format!("{word}: closing delimiter '{mark}' missing"))?;
                let offset = match offset {
                    "" => 0,
                    offset => offset
                        .strip_prefix('+')
                        .unwrap_or(offset)
                        .parse()
                        .map_err(|_| format!("{word}: integer expected after delimiter"))?,
                };
                let regex =
                    Regex::new(text.as_bytes(), &Options::new(Syntax::CSPLIT)).map_err(|message| {
                        format!("{}: invalid regular expression: {message}", quote::locale(word))
                    })?;
                Cut::Match { regex, offset, keep: mark == '/' }
            }
            Some('{') => {
                let count = word
                    .strip_suffix('}')
                    .ok_or_else(|| format!("{word}: '}}' is required in repeat count"))?;
                let repeat = match &count[1..] {
                    "*" => None,
                    count => Some(
                        count
                            .parse()
                            .map_err(|_| format!("{word}}}: integer required between '{{' and '}}'"))?,
                    ),
                };
                match patterns.last_mut() {
                    Some(pattern) => pattern.repeat = repeat,
                    None => return Err(format!("{}: invalid pattern", quote::locale(word))),
                }
                continue;
            }
            _ => {
                let line: usize =
                    word.parse().map_err(|_| format!("{}: invalid pattern", quote::locale(word)))?;
                if line == 0 {
                    return Err(format!("{word}: line number must be greater than zero"));
                }
                if line < last_line {
                    let line = quote::locale(word);
                    return Err(format!(
                        "line number {line} is smaller than preceding line number, {last_line}"
                    ));
                }
                last_line = line;
                Cut::Line(line)
            }
        };
        patterns.push(Pattern { text: word, cut, repeat: Some(0) });
    }
    Ok(patterns)
}
