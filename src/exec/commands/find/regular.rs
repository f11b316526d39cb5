//! The regular expressions of `-regex`: they match whole paths.

use crate::exec::commands::posix_regex::{Anchors, Newline, Options, Regex, Syntax, translate};

/// The names of `-regextype`, in the order in which GNU tells them; whether a dot matches a new
/// line.
pub(super) const NAMES: &[(&str, Syntax, bool)] = &[
    ("findutils-default", Syntax::EMACS, true),
    ("ed", Syntax::BASIC, true),
    ("emacs", Syntax::EMACS, false),
    ("gnu-awk", Syntax::GNU_AWK, true),
    ("grep", Syntax::GREP, true),
    ("posix-awk", Syntax::POSIX_AWK, true),
    ("awk", Syntax::AWK, true),
    ("posix-basic", Syntax::BASIC, true),
    ("posix-egrep", Syntax::EGREP, true),
    ("egrep", Syntax::EGREP, true),
    ("posix-extended", Syntax::EXTENDED, true),
    ("posix-minimal-basic", Syntax::MINIMAL_BASIC, true),
    ("sed", Syntax::BASIC, true),
];

/// How patterns are read where nothing is said.
pub(super) const DEFAULT: Options = options(Syntax::EMACS, false);

/// Patterns of this syntax.
pub(super) const fn options(syntax: Syntax, dot: bool) -> Options {
    let newline = if dot { Newline::All } else { Newline::Brackets };
    Options { anchors: Anchors::Lines, newline, ..Options::new(syntax) }
}

/// Compiles one. `Err` says what is wrong with it.
pub(super) fn compile(pattern: &str, options: Options, ignore_case: bool) -> Result<Regex, &'static str> {
    let options = Options { ignore_case, ..options };
    let mut translated = translate(pattern.as_bytes(), &options)?;
    translated.put_between(r"\A", r"\z");
    Regex::of(translated, &options)
}

#[cfg(test)]
mod tests {
    use super::{NAMES, compile, options};

    #[test]
    fn syntaxes_differ_in_what_is_special() {
        let made = |pattern, name| {
            let (_, syntax, dot) = NAMES.iter().find(|(known, ..)| *known == name).unwrap();
            compile(pattern, options(*syntax, *dot), false)
        };
        let found =
            |pattern, name, text: &str| made(pattern, name).unwrap().is_match(text.as_bytes()).unwrap();
        assert!(found(r".*\(a\|b\)+", "findutils-default", "x\nab") && !found("a", "emacs", "ab"));
        assert!(!found("a.b", "emacs", "a\nb") && found("a.b", "sed", "a\nb"));
        assert!(found("a{2}", "emacs", "a{2}") && found("a{2}", "posix-extended", "aa"));
        assert!(found("(a|b)?c$", "posix-extended", "c") && found("a{,2}", "posix-extended", "aa"));
        assert!(found(r"a\{2\}", "ed", "aa") && found("a+", "ed", "a+") && found(r"a\+", "ed", "aa"));
        assert!(found("+a", "emacs", "+a") && found(r"[\]+", "emacs", "\\\\"));
        assert!(found("a{x", "egrep", "a{x") && found(r"a\$b$", "emacs", "a$b"));
        assert!(found(r"\(.\)\1", "emacs", "aa") && !found(r"\(.\)\1", "emacs", "ab"));
        assert!(
            found(r"[\n]", "awk", "n")
                && !found(r"[\n]", "awk", r"\")
                && found(r"a\?", "posix-minimal-basic", "a?")
        );
        for wrong in ["(a", "*a", "[a", r"(a)\2", "a{x", "a{9999999}"] {
            assert!(made(wrong, "posix-extended").is_err(), "{wrong}");
        }
    }
}
