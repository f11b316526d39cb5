//! Options in the manner and the words of getopt_long(3): anywhere among the operands,
//! short ones in clusters, long ones shortened as far as they stay unambiguous.

/// Letter of `--help`, which has no short form.
pub(super) const HELP: char = '\u{1}';
/// Letter of `--version`.
pub(super) const VERSION: char = '\u{2}';

/// In a list of options: each digit is one, `-0` to `-9`.
pub(super) const DIGIT: char = '\u{7f}';

/// Whether an option has an argument.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Takes {
    Nothing,
    Argument,
    /// Only attached: `--long=argument`, `-largument`.
    Optional,
}

/// An option: its letter (or any other sign, if it has none), its long name, its argument.
pub(super) type Spec = (char, &'static str, Takes);

/// What was given, in order.
#[derive(Debug, Default)]
pub(super) struct Given<'a> {
    /// By letter.
    pub(super) options: Vec<(char, Option<&'a str>)>,
    pub(super) operands: Vec<&'a str>,
    /// The words that are options or their arguments, as written.
    pub(super) words: Vec<&'a str>,
}

impl<'a> Given<'a> {
    /// Whether an option was given.
    pub(super) fn has(&self, letter: char) -> bool {
        self.options.iter().any(|(own, _)| *own == letter)
    }

    /// The argument that an option was given last.
    pub(super) fn value(&self, letter: char) -> Option<&'a str> {
        self.options.iter().rev().find(|(own, _)| *own == letter).and_then(|(_, value)| *value)
    }

    /// All arguments of an option, in order.
    pub(super) fn values(&self, letter: char) -> impl Iterator<Item = &'a str> {
        self.options.iter().filter(move |(own, _)| *own == letter).filter_map(|(_, value)| *value)
    }
}

/// `Err` is getopt's message, without the command's name.
pub(super) fn parse<'a>(args: &'a [String], specs: &[Spec]) -> Result<Given<'a>, String> {
    read(args, specs, End::Never)
}

/// As [`parse`], but the first operand ends the options: what follows is another
/// command's.
pub(super) fn parse_to_operand<'a>(args: &'a [String], specs: &[Spec]) -> Result<Given<'a>, String> {
    read(args, specs, End::Operand)
}

/// As [`parse_to_operand`], for commands whose operands are numbers: `-5`, `-.5` and `-inf`
/// are operands.
pub(super) fn parse_to_number<'a>(args: &'a [String], specs: &[Spec]) -> Result<Given<'a>, String> {
    read(args, specs, End::OperandOrNumber)
}

/// Options and operands in the order in which they stand, operands without a letter: for
/// commands that do as they read.
pub(super) fn parse_in_order<'a>(
    args: &'a [String],
    specs: &[Spec],
) -> Result<Vec<(Option<char>, Option<&'a str>)>, String> {
    let mut all = Vec::new();
    let mut rest = args;
    while !rest.is_empty() {
        let given = read(rest, specs, End::Operand)?;
        all.extend(given.options.into_iter().map(|(letter, value)| (Some(letter), value)));
        let Some((operand, after)) = given.operands.split_first() else { break };
        all.push((None, Some(*operand)));
        if given.words.last() == Some(&"--") {
            all.extend(after.iter().map(|operand| (None, Some(*operand))));
            break;
        }
        rest = &rest[rest.len() - after.len()..];
    }
    Ok(all)
}

/// Where the options end.
#[derive(Clone, Copy, PartialEq, Eq)]
enum End {
    Never,
    Operand,
    OperandOrNumber,
}

/// Whether a word with a minus is a number.
fn is_number(word: &str) -> bool {
    word[1..].starts_with(|c: char| c.is_ascii_digit() || c == '.') || word.eq_ignore_ascii_case("-inf")
}

fn read<'a>(args: &'a [String], specs: &[Spec], end: End) -> Result<Given<'a>, String> {
    let mut given = Given::default();
    let mut args = args.iter().map(String::as_str);
    while let Some(arg) = args.next() {
        if arg == "--" {
            given.words.push(arg);
            given.operands.extend(args.by_ref());
        } else if let Some(long) = arg.strip_prefix("--") {
            given.words.push(arg);
            let (name, value) = match long.split_once('=') {
                Some((name, value)) => (name, Some(value)),
                None => (long, None),
            };
            let &(letter, full, takes) = find(arg, name, specs)?;
            let value = match (takes, value) {
                (Takes::Nothing, Some(_)) => {
                    return Err(format!("option '--{full}' doesn't allow an argument"));
                }
                (Takes::Argument, None) => {
                    let next =
                        args.next().ok_or_else(|| format!("option '--{full}' requires an argument"))?;
                    given.words.push(next);
                    Some(next)
                }
                (_, value) => value,
            };
            given.options.push((letter, value));
        } else if arg.len() > 1 && arg.starts_with('-') && !(end == End::OperandOrNumber && is_number(arg)) {
            given.words.push(arg);
            let mut rest = arg[1..].chars();
            while let Some(letter) = rest.next() {
                let meant = |own: char| own == letter || (own == DIGIT && letter.is_ascii_digit());
                let spec = specs.iter().find(|spec| letter.is_ascii_graphic() && meant(spec.0));
                let takes = spec.ok_or_else(|| format!("invalid option -- '{letter}'"))?.2;
                let mut value = None;
                if takes == Takes::Argument {
                    let attached = rest.as_str();
                    value = Some(if attached.is_empty() {
                        let next = args
                            .next()
                            .ok_or_else(|| format!("option requires an argument -- '{letter}'"))?;
                        given.words.push(next);
                        next
                    } else {
                        attached
                    });
                    rest = "".chars();
                } else if takes == Takes::Optional && !rest.as_str().is_empty() {
                    value = Some(rest.as_str());
                    rest = "".chars();
                }
                given.options.push((letter, value));
            }
        } else {
            given.operands.push(arg);
            if end != End::Never {
                given.operands.extend(args.by_ref());
            }
        }
    }
    Ok(given)
}

fn find<'s>(arg: &str, name: &str, specs: &'s [Spec]) -> Result<&'s Spec, String> {
    if let Some(exact) = specs.iter().find(|spec| spec.1 == name && !name.is_empty()) {
        return Ok(exact);
    }
    let found: Vec<&Spec> =
        specs.iter().filter(|spec| !spec.1.is_empty() && spec.1.starts_with(name)).collect();
    match found[..] {
        [] => Err(format!("unrecognized option '{}'", arg.split('=').next().unwrap_or(arg))),
        [only] => Ok(only),
        [first, ..] if found.iter().all(|spec| spec.0 == first.0) => Ok(first),
        _ => {
            let names: Vec<String> = found.iter().map(|spec| format!("'--{}'", spec.1)).collect();
            Err(format!("option '{arg}' is ambiguous; possibilities: {}", names.join(" ")))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SPECS: &[Spec] = &[
        ('a', "all", Takes::Nothing),
        ('t', "target", Takes::Argument),
        ('\u{1}', "tar-ball", Takes::Optional),
    ];

    fn parsed(args: &[&str]) -> Result<String, String> {
        let args: Vec<String> = args.iter().map(|&arg| arg.to_owned()).collect();
        parse(&args, SPECS).map(|given| format!("{:?} {:?}", given.options, given.operands))
    }

    #[test]
    fn options_come_in_all_their_forms() {
        assert_eq!(
            parsed(&["x", "-at", "y", "-", "--", "-a"]).unwrap(),
            r#"[('a', None), ('t', Some("y"))] ["x", "-", "-a"]"#
        );
        assert_eq!(parsed(&["-tval", "--al"]).unwrap(), r#"[('t', Some("val")), ('a', None)] []"#);
        assert_eq!(
            parsed(&["--target=v", "--target", "w"]).unwrap(),
            r#"[('t', Some("v")), ('t', Some("w"))] []"#
        );
        assert_eq!(parsed(&["--tar-ball", "x"]).unwrap(), r#"[('\u{1}', None)] ["x"]"#);
    }

    #[test]
    fn refusals_are_getopts() {
        assert_eq!(parsed(&["-z"]).unwrap_err(), "invalid option -- 'z'");
        assert_eq!(parsed(&["--zz=1"]).unwrap_err(), "unrecognized option '--zz'");
        assert_eq!(parsed(&["-t"]).unwrap_err(), "option requires an argument -- 't'");
        assert_eq!(parsed(&["--target"]).unwrap_err(), "option '--target' requires an argument");
        assert_eq!(parsed(&["--all=1"]).unwrap_err(), "option '--all' doesn't allow an argument");
        let ambiguous = "option '--ta' is ambiguous; possibilities: '--target' '--tar-ball'";
        assert_eq!(parsed(&["--ta"]).unwrap_err(), ambiguous);
    }
}
