//! The dialects of POSIX patterns: all that differs from one command to another.

/// How a sign that does something is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::exec::commands) enum Sign {
    /// As it is; behind a backslash it is a character.
    Bare,
    /// Behind a backslash; as it is, it is a character.
    Escaped,
    /// There is none.
    Missing,
}

/// What a sign that repeats is where nothing is before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::exec::commands) enum Nothing {
    Refused,
    Text,
    Skipped,
}

/// One dialect. Those below are the ones of glibc's `regex.h` with the same names, which programs
/// choose from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::exec::commands) struct Syntax {
    /// `(` and `)`
    pub(super) groups: Sign,
    /// `|`
    pub(super) alternatives: Sign,
    /// `+` and `?`
    pub(super) plus: Sign,
    /// `{` and `}`
    pub(super) intervals: Sign,
    /// An interval that is none is text, not an error.
    pub(super) lenient_intervals: bool,
    pub(super) nothing: Nothing,
    /// A `*` or an interval repeats nothing that is repeated, and an interval is nowhere text.
    pub(super) repeats_once: bool,
    /// `^` and `$` are anchors wherever they stand.
    pub(super) anchors_anywhere: bool,
    /// A `)` that closes nothing is text.
    pub(super) lone_close: bool,
    /// `\1`
    pub(super) references: bool,
    /// `\w`, `\<` and the like.
    pub(super) gnu_escapes: bool,
    /// `[[:alpha:]]`
    pub(super) classes: bool,
    /// A backslash in brackets makes the next sign a character.
    pub(super) bracket_escapes: bool,
    /// `[z-a]` is a set of nothing, not an error.
    pub(super) empty_ranges: bool,
    /// As the matcher of lines reads that GNU grep asks before it asks glibc, if at all: anchors
    /// can be repeated, a whole interval is skipped where one sign is, `[:space:]` is taken for a
    /// slip of the pen.
    pub(super) line_matcher: bool,
}

impl Syntax {
    /// Basic, as in POSIX: git, tar, ed.
    pub(in crate::exec::commands) const BASIC: Self = Self {
        groups: Sign::Escaped,
        alternatives: Sign::Escaped,
        plus: Sign::Escaped,
        intervals: Sign::Escaped,
        lenient_intervals: false,
        nothing: Nothing::Text,
        repeats_once: true,
        anchors_anywhere: false,
        lone_close: false,
        references: true,
        gnu_escapes: true,
        classes: true,
        bracket_escapes: false,
        empty_ranges: false,
        line_matcher: false,
    };

    /// Extended, as in POSIX: tar.
    pub(in crate::exec::commands) const EXTENDED: Self = Self {
        groups: Sign::Bare,
        alternatives: Sign::Bare,
        plus: Sign::Bare,
        intervals: Sign::Bare,
        nothing: Nothing::Refused,
        repeats_once: false,
        anchors_anywhere: true,
        lone_close: true,
        ..Self::BASIC
    };

    /// Extended, of sed, which refuses a `)` alone.
    pub(in crate::exec::commands) const SED_EXTENDED: Self = Self { lone_close: false, ..Self::EXTENDED };

    /// Basic, of csplit.
    pub(in crate::exec::commands) const CSPLIT: Self =
        Self { repeats_once: false, empty_ranges: true, ..Self::BASIC };

    /// Basic, as find takes grep's.
    pub(in crate::exec::commands) const GREP: Self = Self { repeats_once: false, ..Self::BASIC };

    /// Extended, as find takes egrep's.
    pub(in crate::exec::commands) const EGREP: Self =
        Self { lenient_intervals: true, nothing: Nothing::Skipped, ..Self::EXTENDED };

    /// Basic, of grep itself.
    pub(in crate::exec::commands) const GREP_LINES: Self = Self { line_matcher: true, ..Self::GREP };

    /// Extended, of grep itself.
    pub(in crate::exec::commands) const EGREP_LINES: Self = Self { line_matcher: true, ..Self::EGREP };

    /// Of Emacs, as it was once: find's own.
    pub(in crate::exec::commands) const EMACS: Self = Self {
        plus: Sign::Bare,
        intervals: Sign::Missing,
        repeats_once: false,
        classes: false,
        empty_ranges: true,
        ..Self::BASIC
    };

    pub(in crate::exec::commands) const MINIMAL_BASIC: Self =
        Self { alternatives: Sign::Missing, plus: Sign::Missing, repeats_once: false, ..Self::BASIC };

    pub(in crate::exec::commands) const GNU_AWK: Self =
        Self { lenient_intervals: true, nothing: Nothing::Text, bracket_escapes: true, ..Self::EXTENDED };

    pub(in crate::exec::commands) const POSIX_AWK: Self =
        Self { lenient_intervals: true, bracket_escapes: true, gnu_escapes: false, ..Self::EXTENDED };

    pub(in crate::exec::commands) const AWK: Self = Self {
        intervals: Sign::Missing,
        nothing: Nothing::Text,
        references: false,
        gnu_escapes: false,
        bracket_escapes: true,
        ..Self::EXTENDED
    };
}

/// What `^` and `$` match at.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(in crate::exec::commands) enum Anchors {
    /// The text's ends alone.
    #[default]
    Text,
    /// The ends of each of its lines, too.
    Lines,
    /// The ends of lines, and so do `` \` `` and `\'`: each line is a text of its own.
    Apart,
}

/// What matches a new line beside itself.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(in crate::exec::commands) enum Newline {
    /// A dot, and brackets that are negated.
    #[default]
    All,
    /// Such brackets.
    Brackets,
    None,
}

/// How a pattern is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::exec::commands) struct Options {
    pub(in crate::exec::commands) syntax: Syntax,
    pub(in crate::exec::commands) ignore_case: bool,
    pub(in crate::exec::commands) anchors: Anchors,
    pub(in crate::exec::commands) newline: Newline,
    /// What ends a line.
    pub(in crate::exec::commands) end: u8,
}

impl Options {
    /// Of a text that is one line.
    pub(in crate::exec::commands) const fn new(syntax: Syntax) -> Self {
        Self { syntax, ignore_case: false, anchors: Anchors::Text, newline: Newline::All, end: b'\n' }
    }
}
