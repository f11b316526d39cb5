//! POSIX regular expressions with GNU's additions, on bytes: characters are those of UTF-8,
//! bytes that are none are matched by themselves alone. All commands read them here, each in its
//! [`Syntax`]; what they mean is put into the words of crate `regex`, which finds where a match begins;
//! where its first match need not be the longest, an automaton of all matches tells where it
//! ends, and the groups are those of the first way to that end, as in glibc. Patterns with
//! back-references are searched way by way, up to a limit.

use std::cell::RefCell;

use regex_automata::hybrid::dfa::{Cache, DFA};
use regex_automata::nfa::thompson;
use regex_automata::util::look::LookMatcher;
use regex_automata::util::primitives::NonMaxUsize;
use regex_automata::util::syntax as words;
use regex_automata::{Anchored, Input, MatchKind, meta};

use self::paths::{Goal, Paths, STEPS};

pub(super) use self::syntax::{Anchors, Newline, Options, Syntax};
pub(super) use self::translate::{Meant, Translated, translate};

mod brackets;
mod classes;
mod paths;
mod syntax;
mod tokens;
mod translate;
pub(super) mod utf8;

/// Largest automaton of a pattern, in bytes.
const SIZE: usize = 8 << 20;
const TOO_BIG: &str = "Regular expression too big";

/// A compiled pattern.
#[derive(Debug)]
pub(super) struct Regex {
    /// Not used if there are back-references.
    search: meta::Regex,
    exact: Option<Exact>,
    groups: usize,
}

#[derive(Debug)]
struct Exact {
    paths: Paths,
    longest: DFA,
    cache: RefCell<Cache>,
}

/// A search that takes too many steps was given up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct GivenUp;

/// Where a match and its groups lie: start and end of each.
pub(super) type Spans = Vec<Option<NonMaxUsize>>;

impl Regex {
    /// Compiles a pattern. `Err` has the words of glibc.
    pub(super) fn new(pattern: &[u8], options: &Options) -> Result<Self, &'static str> {
        Self::of(translate(pattern, options)?, options)
    }

    /// Compiles what was translated with the same options.
    pub(super) fn of(translated: Translated, options: &Options) -> Result<Self, &'static str> {
        let words = words::Config::new()
            .utf8(false)
            .case_insensitive(options.ignore_case)
            .line_terminator(options.end);
        let search = meta::Regex::builder()
            .configure(
                meta::Config::new().utf8_empty(false).line_terminator(options.end).nfa_size_limit(Some(SIZE)),
            )
            .syntax(words)
            .build(&translated.pattern)
            .map_err(|_| TOO_BIG)?;
        let exact = if translated.refers() || translated.ambiguous {
            let mut matcher = LookMatcher::new();
            matcher.set_line_terminator(options.end);
            let nfa = thompson::Compiler::new()
                .syntax(words)
                .configure(
                    thompson::Config::new().utf8(false).nfa_size_limit(Some(SIZE)).look_matcher(matcher),
                )
                .build(&translated.pattern)
                .map_err(|_| TOO_BIG)?;
            let config = DFA::config()
                .match_kind(MatchKind::All)
                .unicode_word_boundary(true)
                .skip_cache_capacity_check(true);
            let longest =
                DFA::builder().configure(config).build_from_nfa(nfa.clone()).map_err(|_| TOO_BIG)?;
            let cache = RefCell::new(longest.create_cache());
            let paths = Paths::new(nfa, translated.meant, translated.ambiguous, options.ignore_case);
            Some(Exact { paths, longest, cache })
        } else {
            None
        };
        Ok(Self { search, exact, groups: translated.groups })
    }

    /// How many groups there are.
    pub(super) fn groups(&self) -> usize {
        self.groups
    }

    pub(super) fn is_match(&self, text: &[u8]) -> Result<bool, GivenUp> {
        if self.refers() {
            return self.find(text, 0, &mut vec![None; 2]);
        }
        Ok(self.search.is_match(text))
    }

    fn refers(&self) -> bool {
        self.exact.as_ref().is_some_and(|exact| exact.paths.refers())
    }

    /// The first match at or after `start`, and as many groups as there is room for in `spans`.
    pub(super) fn find(&self, text: &[u8], start: usize, spans: &mut Spans) -> Result<bool, GivenUp> {
        if let Some(exact) = self.exact.as_ref().filter(|exact| exact.paths.refers()) {
            let mut steps = STEPS;
            for at in start..=text.len() {
                if exact.paths.run(text, at, Goal::Longest, spans, &mut steps)?.is_some() {
                    return Ok(true);
                }
                if exact.paths.at_start_only() {
                    break;
                }
            }
            return Ok(false);
        }
        let input = Input::new(text).range(start..);
        if self.search.search_slots(&input, spans).is_none() {
            return Ok(false);
        }
        if let (Some(exact), Some(begin), Some(end)) = (&self.exact, spans[0], spans[1]) {
            let (begin, end) = (begin.get(), end.get());
            let longest = exact.longest(text, begin)?;
            if longest != Some(end)
                && let Some(longest) = longest
            {
                if spans.len() > 2 {
                    exact.paths.run(text, begin, Goal::End(longest), spans, &mut STEPS.clone())?;
                } else {
                    spans[1] = NonMaxUsize::new(longest);
                }
            }
        }
        Ok(true)
    }
}

impl Exact {
    /// Where the longest match that begins at `begin` ends.
    fn longest(&self, text: &[u8], begin: usize) -> Result<Option<usize>, GivenUp> {
        let input = Input::new(text).range(begin..).anchored(Anchored::Yes);
        match self.longest.try_search_fwd(&mut self.cache.borrow_mut(), &input) {
            Ok(found) => Ok(found.map(|found| found.offset())),
            // A word's boundary beside a character beyond ASCII.
            Err(_) => self.paths.run(text, begin, Goal::Longest, &mut vec![None; 2], &mut STEPS.clone()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Options, Regex, Syntax};

    const EXTENDED: Options = Options::new(Syntax::SED_EXTENDED);

    fn found(pattern: &str, text: &[u8], extended: bool) -> Option<Vec<Option<(usize, usize)>>> {
        let options = if extended { EXTENDED } else { Options::new(Syntax::BASIC) };
        let regex = Regex::new(pattern.as_bytes(), &options).unwrap();
        let mut spans = vec![None; 2 * (regex.groups() + 1)];
        let found = regex.find(text, 0, &mut spans).unwrap();
        let pair = |pair: &[Option<super::NonMaxUsize>]| Some((pair[0]?.get(), pair[1]?.get()));
        found.then(|| spans.chunks(2).map(pair).collect())
    }

    #[test]
    fn the_longest_match_counts() {
        assert_eq!(found("a|ab|abc", b"xabcd", true).unwrap(), [Some((1, 4))]);
        assert_eq!(found("a*(ab)?", b"aab", true).unwrap(), [Some((0, 3)), Some((1, 3))]);
        assert_eq!(
            found("(a|ab)(c|bcd)(d*)", b"abcd", true).unwrap(),
            [Some((0, 4)), Some((0, 1)), Some((1, 4)), Some((4, 4))]
        );
        let text = "ä b|c".as_bytes();
        assert_eq!(found(r"\(b\|b|c\)\>", text, false).unwrap(), [Some((3, 6)), Some((3, 6))]);
    }

    #[test]
    fn references_are_followed() {
        assert_eq!(found(r"\(.\)\1", b"abccd", false).unwrap(), [Some((2, 4)), Some((2, 3))]);
        assert_eq!(found(r"^\(.*\)\n*\1$", b"abab", false).unwrap(), [Some((0, 4)), Some((0, 2))]);
        assert_eq!(found(r"(a*)b\1*c", b"aabaaaac", true).unwrap()[0], Some((0, 8)));
        assert!(found(r"(a)(b)?\2", b"aa", true).is_none());
        let regex = Regex::new(br"(a*)*(a*)*(a*)*\1\2\3b", &EXTENDED);
        let long = [b'a'; 200];
        assert!(regex.unwrap().find(&long, 0, &mut vec![None; 8]).is_err());
    }

    #[test]
    fn bytes_that_are_no_text_match_themselves() {
        assert_eq!(found("b.", b"b\xffb\xc3\xa4", false).unwrap(), [Some((2, 5))]);
        assert!(found("[^x]", b"\xff", false).is_none());
        assert_eq!(found("[[:alpha:]]*", "xäß1".as_bytes(), false).unwrap(), [Some((0, 5))]);
        let regex = Regex::new(b"a\xff", &Options::new(Syntax::BASIC)).unwrap();
        assert!(regex.is_match(b"xa\xff").unwrap() && !regex.is_match("a\u{ff}".as_bytes()).unwrap());
    }
}
