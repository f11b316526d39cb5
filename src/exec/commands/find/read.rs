//! The words of a call, read.

use std::ops::ControlFlow;

use super::Asked;
use super::act::{Act, Exec, Sink};
use super::format::Format;
use super::program::{Step, Token, compile};
use super::regular;
use super::run::Outs;
use super::tests::Test;
use crate::exec::commands::glob::Pattern;
use crate::exec::commands::posix_regex::Options;
use crate::exec::commands::refusal::Refusal;
use crate::exec::commands::walk::{Follow, Plan};
use crate::exec::commands::{Call, quote};

/// A day, and the seconds of one.
pub(super) const DAY_NS: i128 = 86_400 * 1_000_000_000;

/// What is read so far.
pub(super) struct Reader<'a> {
    pub(super) call: &'a Call<'a>,
    pub(super) rest: std::slice::Iter<'a, String>,
    pub(super) plan: Plan,
    pub(super) tokens: Vec<Token<'a>>,
    pub(super) outs: Outs,
    pub(super) execs: Vec<Exec>,
    pub(super) warnings: Vec<String>,
    /// How `-regex` is read from here on.
    pub(super) patterns: Options,
    /// A day before now, or the start of today.
    pub(super) day: i128,
    /// Something is done with what is found: it need not be printed.
    pub(super) acts: bool,
    asked_depth: bool,
    deletes: bool,
    prunes: bool,
    /// `-warn`
    pub(super) warns: bool,
    names_from: Option<&'a str>,
    last: &'a str,
    /// The first test so far.
    test: Option<&'a str>,
}

/// A message, without the name of the command.
pub(super) fn wrong<T>(message: impl Into<String>) -> Result<T, Refusal> {
    Err(Refusal::Wrong(message.into()))
}

/// Reads a call. Files to print to are made, as GNU makes them.
pub(super) fn read(call: &Call<'_>) -> Result<Asked, Refusal> {
    let (follow, starts, rest) = leading(call.args)?;
    let plan = Plan {
        cwd: call.cwd.to_owned(),
        starts,
        follow,
        min: 0,
        max: usize::MAX,
        inside_first: false,
        over: call.lent.iter().map(|(path, lent)| (path.clone(), lent.stat)).collect(),
    };
    let mut reader = Reader {
        call,
        rest: rest.iter(),
        plan,
        tokens: Vec::new(),
        outs: Outs::default(),
        execs: Vec::new(),
        warnings: Vec::new(),
        patterns: regular::DEFAULT,
        day: i128::from(call.now_ns) - DAY_NS,
        acts: false,
        asked_depth: false,
        deletes: false,
        prunes: false,
        warns: false,
        names_from: None,
        last: "",
        test: None,
    };
    while let Some(word) = reader.rest.next() {
        reader.word(word)?;
    }
    reader.finish()
}

/// What starts an expression. The first one cannot be a `)` or a comma.
fn is_expression(word: &str, leading: bool) -> bool {
    match word {
        "(" | "!" => true,
        ")" | "," => !leading,
        word => word.len() > 1 && word.starts_with('-'),
    }
}

/// Starting points among the words of a call.
pub(super) fn starts(args: &[String]) -> Vec<String> {
    leading(args).map(|(_, starts, _)| starts).unwrap_or_default()
}

/// Options and starting points, and what follows them.
fn leading(args: &[String]) -> Result<(Follow, Vec<String>, &[String]), Refusal> {
    let mut follow = Follow::Never;
    let mut rest = args;
    while let Some((word, after)) = rest.split_first() {
        match word.as_str() {
            "-P" => follow = Follow::Never,
            "-H" => follow = Follow::Starts,
            "-L" => follow = Follow::Always,
            "-D" => return wrong("the option -D (debugging) is not supported here"),
            "--" => {
                rest = after;
                break;
            }
            word => match word.strip_prefix("-O") {
                None => break,
                Some("") => {
                    return wrong("The -O option must be immediately followed by a decimal integer");
                }
                // Any order of tests is as good as another here.
                Some(level) if level.bytes().all(|byte| byte.is_ascii_digit()) => {}
                Some(_) => return wrong("Please specify a decimal number immediately after -O"),
            },
        }
        rest = after;
    }
    let end = rest.iter().position(|word| is_expression(word, true)).unwrap_or(rest.len());
    Ok((follow, rest[..end].to_vec(), &rest[end..]))
}

impl<'a> Reader<'a> {
    fn finish(mut self) -> Result<Asked, Refusal> {
        if self.deletes && self.prunes && !self.asked_depth {
            return wrong(
                "The -delete action automatically turns on -depth, but -prune does nothing when -depth is in \
                 effect.  If you want to carry on anyway, just explicitly use the -depth option.",
            );
        }
        let mut trouble = Vec::new();
        if let Some(file) = self.names_from {
            if let Some(start) = self.plan.starts.first() {
                return wrong(format!(
                    "extra operand {}\nfind: file operands cannot be combined with -files0-from",
                    quote::curly(start)
                ));
            }
            let data = self.call.read(file).map_err(|errno| {
                Refusal::Wrong(format!("cannot open {} for reading: {errno}", quote::curly(file)))
            })?;
            let data = data.strip_suffix(b"\0").unwrap_or(&data);
            let shown = if file == "-" { "(standard input)" } else { file };
            for (at, name) in data.split(|&byte| byte == 0).enumerate().filter(|_| !data.is_empty()) {
                if name.is_empty() {
                    let (shown, line) = (quote::curly(shown), at + 1);
                    trouble.push(format!("{shown}:{line}: invalid zero-length file name"));
                } else {
                    self.plan.starts.push(String::from_utf8_lossy(name).into_owned());
                }
            }
        } else if self.plan.starts.is_empty() {
            self.plan.starts.push(".".to_owned());
        }
        self.plan.inside_first |= self.deletes;
        let mut program = compile(self.tokens).map_err(Refusal::Wrong)?;
        if !self.acts {
            let end = program.len() + 2;
            if program.is_empty() {
                program.push(Step::Test(Test::Fixed(true)));
            } else {
                program.push(Step::IfNo(end));
            }
            program.push(Step::Act(Act::Print(Sink::Stdout, b'\n')));
        }
        Ok(Asked {
            plan: self.plan,
            program,
            outs: self.outs,
            execs: self.execs,
            warnings: self.warnings,
            trouble,
        })
    }

    fn word(&mut self, word: &'a str) -> Result<(), Refusal> {
        let token = match word {
            "(" => Token::Open,
            ")" => Token::Close,
            "," => Token::Comma,
            "!" | "-not" => Token::Not(word),
            "-a" | "-and" => Token::And(word),
            "-o" | "-or" => Token::Or(word),
            _ if !is_expression(word, false) => {
                let mut message = format!("paths must precede expression: `{word}'");
                if !self.last.is_empty() && self.call.files.stat(&self.call.path(word), false).is_ok() {
                    let last = self.last;
                    message += &format!("\nfind: possible unquoted pattern after predicate `{last}'?");
                }
                return wrong(message);
            }
            "-help" | "--help" => return Err(Refusal::Told(super::USAGE)),
            "-version" | "--version" => {
                return Err(Refusal::Told("find (sqlfs), after GNU findutils 4.9.0\n"));
            }
            _ => {
                self.last = word;
                let step = match self.setting(word)? {
                    ControlFlow::Break(()) => Step::Test(Test::Fixed(true)),
                    ControlFlow::Continue(()) => {
                        self.test.get_or_insert(word);
                        match self.test(word)? {
                            Some(test) => Step::Test(test),
                            None => Step::Act(self.act(word)?),
                        }
                    }
                };
                Token::Leaf(step)
            }
        };
        self.tokens.push(token);
        Ok(())
    }

    /// The argument of a predicate.
    pub(super) fn argument(&mut self, predicate: &str) -> Result<&'a str, Refusal> {
        match self.rest.next() {
            Some(word) => Ok(word),
            None => wrong(format!("missing argument to `{predicate}'")),
        }
    }

    /// What holds for the whole walk.
    fn setting(&mut self, word: &'a str) -> Result<ControlFlow<()>, Refusal> {
        match word {
            "-d" | "-depth" => (self.plan.inside_first, self.asked_depth) = (true, true),
            "-maxdepth" => self.plan.max = self.level(word)?,
            "-mindepth" => self.plan.min = self.level(word)?,
            "-follow" => self.plan.follow = Follow::Always,
            "-daystart" => {
                let now = i128::from(self.call.now_ns);
                self.day = now - now.rem_euclid(DAY_NS);
            }
            "-regextype" => {
                let name = self.argument(word)?;
                let known = regular::NAMES.iter().find(|(known, ..)| *known == name);
                let Some(&(_, syntax, dot)) = known else {
                    let names: Vec<String> =
                        regular::NAMES.iter().map(|(name, ..)| quote::curly(name)).collect();
                    let names = names.join(", ");
                    let name = quote::curly(name);
                    return wrong(format!(
                        "Unknown regular expression type {name}; valid types are {names}."
                    ));
                };
                self.patterns = regular::options(syntax, dot);
            }
            "-files0-from" => self.names_from = Some(self.argument(word)?),
            "-warn" => self.warns = true,
            "-nowarn" => self.warns = false,
            // There is one file system, and nothing changes behind a walk's back.
            "-mount" | "-xdev" | "-noleaf" | "-ignore_readdir_race" | "-noignore_readdir_race" => {}
            _ => return Ok(ControlFlow::Continue(())),
        }
        let global = matches!(word, "-d" | "-depth" | "-maxdepth" | "-mindepth" | "-mount" | "-xdev");
        if let Some(test) = self.test.filter(|_| global && self.warns) {
            self.warnings.push(format!(
                "you have specified the global option {word} after the argument {test}, but global options \
                 are not positional, i.e., {word} affects tests specified before it as well as those \
                 specified after it.  Please specify global options before other arguments."
            ));
        }
        Ok(ControlFlow::Break(()))
    }

    fn level(&mut self, word: &str) -> Result<usize, Refusal> {
        let text = self.argument(word)?;
        if text.is_empty() || !text.bytes().all(|byte| byte.is_ascii_digit()) {
            let text = quote::curly(text);
            return wrong(format!("Expected a positive decimal integer argument to {word}, but got {text}"));
        }
        Ok(text.parse().unwrap_or(usize::MAX))
    }

    /// A pattern for names.
    pub(super) fn pattern(&mut self, word: &'a str, fold: bool) -> Result<Pattern, Refusal> {
        let text = self.argument(word)?;
        if self.warns && matches!(word, "-name" | "-iname") && text.contains('/') && text != "/" {
            let (name, whole) = (quote::curly(word), if fold { "-iwholename" } else { "-wholename" });
            self.warnings.push(format!(
                "{name} matches against basenames only, but the given pattern contains a directory separator \
                 ({}), thus the expression will evaluate to false all the time.  Did you mean {}?",
                quote::curly("/"),
                quote::curly(whole)
            ));
        }
        Ok(Pattern::new(text, fold))
    }

    fn act(&mut self, word: &'a str) -> Result<Act, Refusal> {
        self.acts |= !matches!(word, "-prune" | "-quit");
        Ok(match word {
            "-print" => Act::Print(Sink::Stdout, b'\n'),
            "-print0" => Act::Print(Sink::Stdout, 0),
            "-printf" => Act::Printf(Sink::Stdout, self.format(word)?),
            "-ls" => Act::List(Sink::Stdout),
            "-fprint" => Act::Print(self.sink(word)?, b'\n'),
            "-fprint0" => Act::Print(self.sink(word)?, 0),
            "-fls" => Act::List(self.sink(word)?),
            "-fprintf" => {
                let file = self.argument(word)?;
                let Some(format) = self.rest.next() else {
                    return wrong(format!("invalid argument `{file}' to `{word}'"));
                };
                let sink = self.open(file)?;
                Act::Printf(sink, self.read_format(format)?)
            }
            "-delete" => {
                self.deletes = true;
                Act::Delete
            }
            "-prune" => {
                self.prunes = true;
                Act::Prune
            }
            "-quit" => Act::Quit,
            "-exec" | "-execdir" | "-ok" | "-okdir" => {
                let exec = self.exec(word)?;
                self.execs.push(exec);
                Act::Exec(self.execs.len() - 1)
            }
            "-context" => return wrong("invalid predicate -context: SELinux is not enabled."),
            "-fstype" | "-used" => return wrong(format!("the test {word} is not supported here")),
            _ => return wrong(format!("unknown predicate `{word}'")),
        })
    }

    fn format(&mut self, word: &str) -> Result<Format, Refusal> {
        let text = self.argument(word)?;
        self.read_format(text)
    }

    fn read_format(&mut self, text: &str) -> Result<Format, Refusal> {
        Format::read(text, &mut self.warnings).map_err(|message| Refusal::Wrong(format!("error: {message}")))
    }

    fn sink(&mut self, word: &str) -> Result<Sink, Refusal> {
        let file = self.argument(word)?;
        self.open(file)
    }

    fn open(&mut self, file: &str) -> Result<Sink, Refusal> {
        let path = self.call.path(file);
        match path.as_str() {
            "/dev/stdout" => return Ok(Sink::Stdout),
            "/dev/stderr" => return Ok(Sink::Stderr),
            _ => {}
        }
        self.outs
            .open(self.call.files, path)
            .map_err(|errno| Refusal::Wrong(format!("{}: {errno}", quote::locale(file))))
    }

    /// Words up to `;`, or `{} +`.
    fn exec(&mut self, word: &str) -> Result<Exec, Refusal> {
        let words = self.rest.as_slice();
        let (in_dir, asks) = (word.ends_with("dir"), word.starts_with("-ok"));
        let many = |at: usize| !asks && at > 0 && words[at] == "+" && words[at - 1].contains("{}");
        let Some(end) = (0..words.len()).find(|&at| words[at] == ";" || many(at)) else {
            return wrong(format!("missing argument to `{word}'"));
        };
        if end == 0 {
            return wrong(format!("invalid argument `;' to `{word}'"));
        }
        self.rest = words[end + 1..].iter();
        let many = words[end] == "+";
        let words = words[..end].to_vec();
        if many {
            let dir = if in_dir { "dir" } else { "" };
            if words.iter().filter(|word| word.contains("{}")).count() > 1 {
                return wrong(format!("Only one instance of {{}} is supported with -exec{dir} ... +"));
            }
            let last = words.last().map_or("", String::as_str);
            if last != "{}" {
                let (form, braces) = (quote::curly(&format!("-exec{dir} ... {{}} +")), quote::curly("{}"));
                let last = quote::curly(last);
                return wrong(format!(
                    "In {form} the {braces} must appear by itself, but you specified {last}"
                ));
            }
            if words.len() == 1 {
                return wrong(format!("{word} needs a command before {{}}"));
            }
        }
        Ok(Exec::new(words, in_dir, many, asks))
    }
}
