//! Finds lines that match. One automaton searches whole buffers for all patterns that it can
//! express, in linear time. Where back-references may hold it finds the lines that are looked at;
//! patterns of Perl that look around backtrack, line by line and not for ever.

use regex_automata::meta;
use regex_automata::nfa::thompson::{self, WhichCaptures, pikevm};
use regex_automata::util::look::LookMatcher;
use regex_automata::{Anchored, Input, MatchKind};
use regex_syntax::hir::{
    Class, ClassBytes, ClassBytesRange, ClassUnicode, ClassUnicodeRange, Hir, HirKind, Repetition,
};

use super::options::{Options, Syntax};
use super::{perl, symbols};
use crate::exec::commands::posix_regex::{self as posix, Anchors, GivenUp, Meant, Newline, Regex};

/// Largest automaton of all patterns, in bytes.
const SIZE: usize = 32 << 20;
/// Steps that an engine may take back in one line.
const STEPS_BACK: usize = 1_000_000;
/// Parentheses inside one another.
const DEPTH: u32 = 250;

/// The patterns, ready to search. What it cannot decide is an error, with the reason.
pub(super) struct Engine {
    plain: Option<Plain>,
    /// With back-references.
    referring: Vec<Regex>,
    /// Where there are such, all patterns, a reference being any text.
    candidates: Option<Plain>,
    fancy: Vec<fancy_regex::Regex>,
    end: u8,
}

struct Plain {
    regex: meta::Regex,
    cache: meta::Cache,
    /// Finds the longest match, where the first found may be shorter.
    longest: Option<(pikevm::PikeVM, pikevm::Cache)>,
}

/// A line, without and with its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Line {
    pub(super) start: usize,
    pub(super) end: usize,
    pub(super) next: usize,
}

/// The line that `at` is in.
pub(super) fn line_at(data: &[u8], at: usize, from: usize, end: u8) -> Line {
    let start = memchr::memrchr(end, &data[from..at]).map_or(from, |before| from + before + 1);
    let stop = memchr::memchr(end, &data[at..]).map_or(data.len(), |after| at + after);
    Line { start, end: stop, next: (stop + 1).min(data.len()) }
}

impl Engine {
    /// Makes one of patterns that are one line each. `warn` is told what is odd.
    pub(super) fn new(
        patterns: &[&[u8]],
        options: &Options<'_>,
        warn: &mut dyn FnMut(&str),
    ) -> Result<Self, String> {
        let (mut hirs, mut loose) = (Vec::new(), Vec::new());
        let (mut referring, mut fancy) = (Vec::new(), Vec::new());
        for pattern in patterns {
            match options.syntax {
                Syntax::Fixed => {
                    let mut text = String::new();
                    symbols::signs(pattern).iter().for_each(|&sign| symbols::literal(sign, &mut text));
                    hirs.push(parse(&bounded(&text, options, false), options, &[])?);
                }
                Syntax::Perl => {
                    let signs = symbols::signs(pattern);
                    let translated = perl::translate(&signs, false)?;
                    if translated.fancy {
                        let text = perl::translate(&signs, true)?.text;
                        fancy.push(backtracking(&bounded(&text, options, true), options)?);
                    } else {
                        hirs.push(parse(&bounded(&translated.text, options, false), options, &[])?);
                    }
                }
                Syntax::Basic | Syntax::Extended => {
                    let reading = reading(options);
                    let mut translated = posix::translate(pattern, &reading)?;
                    translated.warnings.iter().for_each(|warning| warn(warning));
                    translated.pattern = bounded(&translated.pattern, options, false);
                    let hir = parse(&translated.pattern, options, &translated.meant)?;
                    if translated.refers() {
                        loose.push(hir);
                        referring.push(Regex::of(translated, &reading)?);
                    } else {
                        hirs.push(hir);
                    }
                }
            }
        }
        let candidates = if loose.is_empty() {
            None
        } else {
            loose.extend(hirs.iter().cloned());
            Some(Plain::new(Hir::alternation(loose), options, false)?)
        };
        let shows = options.only || options.color;
        let plain =
            if hirs.is_empty() { None } else { Some(Plain::new(Hir::alternation(hirs), options, shows)?) };
        Ok(Self { plain, referring, candidates, fancy, end: options.end })
    }

    /// The first line from `from` on, where one begins, that matches.
    pub(super) fn find(&mut self, data: &[u8], from: usize) -> Result<Option<Line>, String> {
        let mut at = from;
        if self.fancy.is_empty() {
            loop {
                let all = self.candidates.as_mut().or(self.plain.as_mut());
                let Some(line) = all.and_then(|all| all.line(data, at, self.end)) else { return Ok(None) };
                if self.referring.is_empty() || self.matches(&data[line.start..line.end])? {
                    return Ok(Some(line));
                }
                at = line.next;
            }
        }
        while at < data.len() {
            let line = line_at(data, at, at, self.end);
            if self.matches(&data[line.start..line.end])? {
                return Ok(Some(line));
            }
            at = line.next;
        }
        Ok(None)
    }

    fn matches(&mut self, line: &[u8]) -> Result<bool, String> {
        if let Some(plain) = &mut self.plain {
            let input = Input::new(line).earliest(true);
            if plain.regex.search_half_with(&mut plain.cache, &input).is_some() {
                return Ok(true);
            }
        }
        for regex in &self.referring {
            if regex.is_match(line).map_err(|GivenUp| exceeded())? {
                return Ok(true);
            }
        }
        for regex in &self.fancy {
            if regex.is_match(line).map_err(|_| exceeded())? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// The first match in a line that begins at `from` or later: where it is.
    pub(super) fn find_in(&mut self, line: &[u8], from: usize) -> Result<Option<(usize, usize)>, String> {
        let mut best = None;
        let mut take = |found: (usize, usize)| {
            let rank = |(start, end)| (start, std::cmp::Reverse(end));
            if best.is_none_or(|best| rank(found) < rank(best)) {
                best = Some(found);
            }
        };
        if let Some(plain) = &mut self.plain {
            let input = Input::new(line).range(from..);
            if let Some(found) = plain.regex.search_with(&mut plain.cache, &input) {
                take((found.start(), plain.longest(line, found.start()).unwrap_or(found.end())));
            }
        }
        for regex in &self.referring {
            let mut spans = vec![None; 2];
            if regex.find(line, from, &mut spans).map_err(|GivenUp| exceeded())?
                && let [Some(start), Some(end)] = spans[..]
            {
                take((start.get(), end.get()));
            }
        }
        for regex in &self.fancy {
            if let Some(found) = regex.find_from_pos(line, from).map_err(|_| exceeded())? {
                take((found.start(), found.end()));
            }
        }
        Ok(best)
    }
}

fn exceeded() -> String {
    "exceeded the limit on backtracking".to_owned()
}

impl Plain {
    /// With `shows` it can tell where matches end.
    fn new(hir: Hir, options: &Options<'_>, shows: bool) -> Result<Self, String> {
        let end = options.end;
        let big = |_| "Regular expression too big".to_owned();
        let config = meta::Config::new().utf8_empty(false).nfa_size_limit(Some(SIZE)).line_terminator(end);
        let regex = meta::Builder::new().configure(config).build_from_hir(&hir).map_err(big)?;
        let cache = regex.create_cache();
        let longest = if shows && options.syntax != Syntax::Perl && may_be_longer(&hir) {
            let mut looks = LookMatcher::new();
            looks.set_line_terminator(end);
            let config = thompson::Config::new()
                .utf8(false)
                .nfa_size_limit(Some(SIZE))
                .which_captures(WhichCaptures::Implicit)
                .look_matcher(looks);
            let nfa = thompson::Compiler::new()
                .configure(config)
                .build_from_hir(&hir)
                .map_err(|_| "Regular expression too big")?;
            let vm = pikevm::PikeVM::builder()
                .configure(pikevm::PikeVM::config().match_kind(MatchKind::All))
                .build_from_nfa(nfa)
                .map_err(|_| "Regular expression too big")?;
            let cache = vm.create_cache();
            Some((vm, cache))
        } else {
            None
        };
        Ok(Self { regex, cache, longest })
    }

    /// The first line from `from` on that it matches.
    fn line(&mut self, data: &[u8], from: usize, end: u8) -> Option<Line> {
        let input = Input::new(data).range(from..).earliest(true);
        let at = self.regex.search_half_with(&mut self.cache, &input)?.offset();
        // Behind the end of the last line there is none.
        let behind = at == data.len() && (at == from || data[at - 1] == end);
        (!behind).then(|| line_at(data, at, from, end))
    }

    /// Where the longest match ends that begins at `start`, if that may be another one.
    fn longest(&mut self, line: &[u8], start: usize) -> Option<usize> {
        let (vm, cache) = self.longest.as_mut()?;
        let input = Input::new(line).range(start..).anchored(Anchored::Yes);
        let mut slots = [None, None];
        vm.search_slots(cache, &input, &mut slots)?;
        slots[1].map(regex_automata::util::primitives::NonMaxUsize::get)
    }
}

/// How patterns of POSIX are read.
fn reading(options: &Options<'_>) -> posix::Options {
    let syntax = match options.syntax {
        Syntax::Extended => posix::Syntax::EGREP_LINES,
        _ => posix::Syntax::GREP_LINES,
    };
    posix::Options {
        syntax,
        ignore_case: options.ignore_case,
        anchors: Anchors::Apart,
        // No line has one but with `-z`, and there it is a sign as any other.
        newline: Newline::All,
        end: options.end,
    }
}

/// What `-x` and `-w` put around a pattern; `fancy` is for an engine that looks around.
fn bounded(text: &str, options: &Options<'_>, fancy: bool) -> String {
    let perl = options.syntax == Syntax::Perl;
    match (options.lines, options.words) {
        (true, _) if fancy => format!("^(?:{text})$"),
        (true, _) => format!("(?m:^)(?:{text})(?m:$)"),
        (_, true) if fancy => format!("(?<![0-9A-Za-z_])(?:{text})(?![0-9A-Za-z_])"),
        (_, true) if perl => format!(r"(?-u:\b{{start-half}})(?:{text})(?-u:\b{{end-half}})"),
        (_, true) => format!(r"\b{{start-half}}(?:{text})\b{{end-half}}"),
        _ => text.to_owned(),
    }
}

fn parse(text: &str, options: &Options<'_>, meant: &[Meant]) -> Result<Hir, String> {
    let parsed = regex_syntax::ParserBuilder::new()
        .nest_limit(DEPTH)
        .utf8(false)
        .multi_line(true)
        .line_terminator(options.end)
        .case_insensitive(options.ignore_case)
        .build()
        .parse(text);
    match parsed {
        Ok(hir) => Ok(within_lines(hir, options.end, meant)),
        Err(_) if options.syntax == Syntax::Perl => {
            Err("a pattern that is invalid or not supported here".to_owned())
        }
        Err(_) => Err("Invalid regular expression".to_owned()),
    }
}

fn backtracking(text: &str, options: &Options<'_>) -> Result<fancy_regex::Regex, String> {
    fancy_regex::RegexBuilder::new(text)
        .case_insensitive(options.ignore_case)
        .backtrack_limit(STEPS_BACK)
        .delegate_size_limit(SIZE)
        .build()
        .map_err(|_| match options.syntax {
            Syntax::Perl => "a pattern that is invalid or not supported here".to_owned(),
            _ => "Invalid regular expression".to_owned(),
        })
}

/// The same without captures, and so that it matches no end of a line. What is `meant` by a
/// capture as a back-reference is any text.
fn within_lines(hir: Hir, end: u8, meant: &[Meant]) -> Hir {
    let all = |parts: Vec<Hir>| parts.into_iter().map(|part| within_lines(part, end, meant)).collect();
    match hir.into_kind() {
        HirKind::Empty => Hir::empty(),
        HirKind::Literal(literal) if literal.0.contains(&end) => Hir::fail(),
        HirKind::Literal(literal) => Hir::literal(literal.0),
        HirKind::Class(Class::Unicode(mut class)) => {
            let end = char::from(end);
            class.difference(&ClassUnicode::new([ClassUnicodeRange::new(end, end)]));
            Hir::class(Class::Unicode(class))
        }
        HirKind::Class(Class::Bytes(mut class)) => {
            class.difference(&ClassBytes::new([ClassBytesRange::new(end, end)]));
            Hir::class(Class::Bytes(class))
        }
        HirKind::Look(look) => Hir::look(look),
        HirKind::Repetition(mut repetition) => {
            repetition.sub = Box::new(within_lines(*repetition.sub, end, meant));
            Hir::repetition(repetition)
        }
        HirKind::Capture(capture) => match meant.get((capture.index as usize).wrapping_sub(1)) {
            Some(Meant::Reference(_)) => {
                let mut class = ClassBytes::new([ClassBytesRange::new(0, u8::MAX)]);
                class.difference(&ClassBytes::new([ClassBytesRange::new(end, end)]));
                let sub = Box::new(Hir::class(Class::Bytes(class)));
                Hir::repetition(Repetition { min: 0, max: None, greedy: true, sub })
            }
            _ => within_lines(*capture.sub, end, meant),
        },
        HirKind::Concat(parts) => Hir::concat(all(parts)),
        HirKind::Alternation(parts) => Hir::alternation(all(parts)),
    }
}

/// Whether the match that is found first may be shorter than another at the same place. Not
/// where each part repeats one character: a part that takes what a later one could take
/// leaves it no less.
fn may_be_longer(hir: &Hir) -> bool {
    match hir.kind() {
        HirKind::Empty | HirKind::Literal(_) | HirKind::Class(_) => false,
        HirKind::Look(_) | HirKind::Alternation(_) => true,
        HirKind::Repetition(repetition) => match repetition.sub.kind() {
            HirKind::Class(_) => !repetition.greedy,
            HirKind::Literal(literal) => !repetition.greedy || literal.0.len() > 1,
            _ => true,
        },
        HirKind::Capture(capture) => may_be_longer(&capture.sub),
        HirKind::Concat(parts) => parts.iter().any(may_be_longer),
    }
}
