//! `fmt`, as of GNU coreutils 9.1: paragraphs filled so that the whole of their lines is
//! best, by the method of Knuth and Plass with the weights that GNU's documents. Counts
//! bytes, as GNU's does.

use super::options::{self, Given, HELP, Spec, Takes, VERSION};
use super::{Answer, Call, quote};

const SPECS: &[Spec] = &[
    ('c', "crown-margin", Takes::Nothing),
    ('p', "prefix", Takes::Argument),
    ('s', "split-only", Takes::Nothing),
    ('t', "tagged-paragraph", Takes::Nothing),
    ('u', "uniform-spacing", Takes::Nothing),
    ('w', "width", Takes::Argument),
    ('g', "goal", Takes::Argument),
    (HELP, "help", Takes::Nothing),
    (VERSION, "version", Takes::Nothing),
];

const USAGE: &str = "\
Usage: fmt [-WIDTH] [OPTION]... [FILE]...
Reformat each paragraph in the FILE(s), writing to standard output.

  -c, --crown-margin        preserve indentation of first two lines
  -p, --prefix=STRING       reformat only lines beginning with STRING
  -s, --split-only          split long lines, but do not refill
  -t, --tagged-paragraph    indentation of first line different from second
  -u, --uniform-spacing     one space between words, two after sentences
  -w, --width=WIDTH         maximum line width (default of 75 columns)
  -g, --goal=WIDTH          goal width (default of 93% of width)
";

const MOST_WIDTH: usize = 2500;

/// Words of a paragraph that are weighed together; a longer one is filled in parts.
const WORDS: usize = 5_000;

/// Indent of the rest of a tagged paragraph that shows none.
const TAGGED: usize = 3;

#[derive(Clone, Copy, PartialEq, Eq)]
enum Indent {
    /// Lines of another one begin another paragraph.
    Same,
    /// The second line's is that of the rest.
    Crown,
    /// The second line's differs, or the paragraph ends.
    Tagged,
}

struct Style<'a> {
    indent: Indent,
    prefix: &'a str,
    split_only: bool,
    uniform: bool,
    width: usize,
    goal: usize,
}

struct Word<'a> {
    text: &'a [u8],
    /// Blanks behind it, if another one follows in its line.
    space: usize,
    opens: bool,
    punctuated: bool,
    ends_sentence: bool,
    /// It ends a sentence, for sure.
    last: bool,
}

/// Runs it.
pub(super) fn run(call: &Call<'_>) -> Answer {
    let mut answer = Answer::default();
    // `-40` stands for `-w 40`, as the first word.
    let mut args = call.args.to_vec();
    if let Some(first) = args.first_mut()
        && first.len() > 1
        && first.strip_prefix('-').is_some_and(|digits| digits.bytes().all(|byte| byte.is_ascii_digit()))
    {
        *first = format!("-w{}", &first[1..]);
    }
    let Given { options: given, operands, .. } = match options::parse(&args, SPECS) {
        Ok(given) => given,
        Err(message) => {
            answer.misused(1, "fmt", &message);
            return answer;
        }
    };
    let mut style =
        Style { indent: Indent::Same, prefix: "", split_only: false, uniform: false, width: 75, goal: 0 };
    let (mut width, mut goal) = (None, None);
    for (letter, value) in given {
        let value = value.unwrap_or_default();
        match letter {
            'c' => style.indent = Indent::Crown,
            't' => style.indent = Indent::Tagged,
            's' => style.split_only = true,
            'u' => style.uniform = true,
            'p' => style.prefix = value.trim(),
            'w' | 'g' => match value.parse::<usize>() {
                Ok(number) if number <= MOST_WIDTH => {
                    *(if letter == 'w' { &mut width } else { &mut goal }) = Some(number);
                }
                _ => {
                    answer.complain(1, format!("fmt: invalid width: {}", quote::always(value)));
                    return answer;
                }
            },
            _ => {
                let text = if letter == HELP { USAGE } else { "fmt (sqlfs), after GNU coreutils 9.1\n" };
                answer.stdout.extend_from_slice(text.as_bytes());
                return answer;
            }
        }
    }
    style.width = width.or(goal.map(|goal| goal + 10)).unwrap_or(75);
    style.goal = goal.unwrap_or(style.width * 187 / 200);
    if style.goal > style.width {
        let goal = quote::always(&style.goal.to_string());
        answer.complain(1, format!("fmt: invalid width: {goal}: Numerical result out of range"));
        return answer;
    }
    let names = if operands.is_empty() { vec!["-"] } else { operands };
    for name in names {
        match call.read(name) {
            Ok(data) => fill(call, &data, &style, &mut answer.stdout),
            Err(errno) => {
                let name = quote::always(name);
                answer.complain(1, format!("fmt: cannot open {name} for reading: {errno}"));
            }
        }
    }
    answer
}

/// A line, its prefix taken off.
struct Line<'a> {
    /// Columns before the prefix, and between it and the text.
    before: usize,
    indent: usize,
    text: &'a [u8],
}

fn blanks(text: &[u8]) -> (usize, &[u8]) {
    let end = text.iter().position(|byte| !matches!(byte, b' ' | b'\t')).unwrap_or(text.len());
    let columns = text[..end].iter().fold(0, |at, &byte| if byte == b'\t' { at / 8 * 8 + 8 } else { at + 1 });
    (columns, &text[end..])
}

/// `None` for what is printed as it is: blank, or without the prefix.
fn line<'a>(raw: &'a [u8], style: &Style<'_>) -> Option<Line<'a>> {
    let (before, text) = blanks(raw);
    let text = text.strip_prefix(style.prefix.as_bytes())?;
    let (between, text) = blanks(text);
    let (before, indent) = if style.prefix.is_empty() { (0, before) } else { (before, between) };
    (!text.is_empty()).then_some(Line { before, indent, text })
}

fn fill(call: &Call<'_>, data: &[u8], style: &Style<'_>, out: &mut Vec<u8>) {
    let mut lines = data
        .split_inclusive(|&byte| byte == b'\n')
        .map(|raw| raw.strip_suffix(b"\n").unwrap_or(raw))
        .peekable();
    while let Some(raw) = lines.next() {
        if call.is_over() {
            return;
        }
        let Some(first) = line(raw, style) else {
            let blank = blanks(raw).1.is_empty();
            out.extend_from_slice(if blank { b"" } else { raw });
            out.push(b'\n');
            continue;
        };
        let (before, first_indent) = (first.before, first.indent);
        // Of a tagged paragraph the rest is indented by three, or else by nothing.
        let (mut other_indent, mut texts) = match style.indent {
            Indent::Tagged if first_indent == TAGGED => (0, vec![first.text]),
            Indent::Tagged => (TAGGED, vec![first.text]),
            _ => (first_indent, vec![first.text]),
        };
        while !style.split_only
            && let Some(next) =
                lines.peek().and_then(|raw| line(raw, style)).filter(|next| next.before == before)
        {
            match style.indent {
                Indent::Crown | Indent::Tagged if texts.len() == 1 => {
                    if style.indent == Indent::Tagged && next.indent == first_indent {
                        break;
                    }
                    other_indent = next.indent;
                }
                _ if next.indent != other_indent => break,
                _ => {}
            }
            texts.push(next.text);
            lines.next();
        }
        let words = words(&texts, style.uniform);
        let lead = " ".repeat(before) + style.prefix;
        paragraph(&words, lead.as_bytes(), (first_indent, other_indent), style, out);
    }
}

fn words<'a>(texts: &[&'a [u8]], uniform: bool) -> Vec<Word<'a>> {
    let mut words = Vec::new();
    for text in texts {
        let mut rest = *text;
        while !rest.is_empty() {
            let end = rest.iter().position(|byte| matches!(byte, b' ' | b'\t')).unwrap_or(rest.len());
            let (word, after) = rest.split_at(end);
            let (space, next) = blanks(after);
            rest = next;
            let mut stem = word;
            while let [before @ .., b')' | b']' | b'\'' | b'"'] = stem {
                stem = before;
            }
            let ends_sentence = matches!(stem.last(), Some(b'.' | b'?' | b'!'));
            let ends_line = next.is_empty();
            let last = ends_sentence && (ends_line || space > 1);
            words.push(Word {
                text: word,
                space: if ends_line || uniform { if last { 2 } else { 1 } } else { space },
                opens: matches!(word[0], b'(' | b'[' | b'\'' | b'"' | b'`'),
                punctuated: word[word.len() - 1].is_ascii_punctuation(),
                ends_sentence,
                last,
            });
        }
    }
    if let Some(last) = words.last_mut() {
        (last.ends_sentence, last.last) = (true, true);
    }
    words
}

/// What it costs to begin a line with a word.
fn cost_of_break(words: &[Word<'_>], at: usize) -> i64 {
    let square = |n: i64| n * n;
    let length = |word: &Word<'_>| i64::try_from(word.text.len()).unwrap_or(i64::MAX / 4);
    let mut cost = square(70);
    if at > 0 {
        let before = &words[at - 1];
        if before.ends_sentence {
            cost += if before.last { -square(50) } else { square(600) };
        } else if before.punctuated {
            cost -= square(40);
        } else if at > 1 && words[at - 2].last {
            cost += square(200) / (length(before) + 2);
        }
    }
    let word = &words[at];
    if word.opens {
        cost - square(40)
    } else if word.last {
        cost + square(150) / (length(word) + 2)
    } else {
        cost
    }
}

fn paragraph(words: &[Word<'_>], lead: &[u8], indents: (usize, usize), style: &Style<'_>, out: &mut Vec<u8>) {
    let mut part_begins = 0;
    while part_begins < words.len() {
        let part = &words[part_begins..words.len().min(part_begins + WORDS)];
        let first_indent = if part_begins == 0 { indents.0 } else { indents.1 };
        let starts = line_starts(part, lead.len(), (first_indent, indents.1), style);
        // The last line of a part that is none of the paragraph goes into the next one.
        let whole = part_begins + part.len() == words.len();
        let lines = if whole || starts.len() < 3 { starts.len() - 1 } else { starts.len() - 2 };
        for (number, range) in starts.windows(2).take(lines).enumerate() {
            let indent = if number == 0 { first_indent } else { indents.1 };
            out.extend_from_slice(lead);
            out.extend(std::iter::repeat_n(b' ', indent));
            for (at, word) in part[range[0]..range[1]].iter().enumerate() {
                if at > 0 {
                    out.extend(std::iter::repeat_n(b' ', part[range[0] + at - 1].space));
                }
                out.extend_from_slice(word.text);
            }
            out.push(b'\n');
        }
        part_begins += starts[lines];
    }
}

/// The words that lines begin with, and the end.
fn line_starts(words: &[Word<'_>], lead: usize, indents: (usize, usize), style: &Style<'_>) -> Vec<usize> {
    let end = words.len();
    let signed = |n: usize| i64::try_from(n).unwrap_or(i64::MAX / 1_000_000);
    let short = |n: i64| 100 * n * n;
    // For each word: the least cost of all from its line on, that line's end and length.
    let mut best = vec![(0_i64, end, 0_usize); end + 1];
    for start in (0..end).rev() {
        let indent = if start == 0 { indents.0 } else { indents.1 };
        let mut length = lead + indent + words[start].text.len();
        let mut found: Option<(i64, usize, usize)> = None;
        for next in start + 1..=end {
            let mut cost = best[next].0;
            if next < end {
                cost += short(signed(style.goal) - signed(length));
                if best[next].1 < end {
                    cost += short(signed(length) - signed(best[next].2)) / 2;
                }
            }
            if found.is_none_or(|(least, ..)| cost < least) {
                found = Some((cost, next, length));
            }
            if next == end {
                break;
            }
            length += words[next - 1].space + words[next].text.len();
            if length >= style.width {
                break;
            }
        }
        let (cost, next, length) = found.unwrap_or((0, start + 1, length));
        best[start] = (cost + cost_of_break(words, start), next, length);
    }
    let mut starts = vec![0];
    while let Some(&start) = starts.last().filter(|&&start| start < end) {
        starts.push(best[start].1);
    }
    starts
}
