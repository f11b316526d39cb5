//! Reads scripts.

use std::collections::HashMap;
use std::rc::Rc;

use super::reader::{Origin, Reader};
use super::script::{Action, Address, Command, Pattern, Script};
use super::{escapes, substitution, text};
use crate::exec::commands::posix_regex::{Anchors, Newline, Options, Regex, Syntax};

/// How scripts are read.
#[derive(Clone, Copy)]
pub(super) struct Dialect {
    pub(super) extended: bool,
    /// `--posix`.
    pub(super) posix: bool,
    /// `--sandbox`: nothing names files.
    pub(super) sandbox: bool,
    /// What ends a line.
    pub(super) end: u8,
}

pub(super) struct Parser {
    pub(super) dialect: Dialect,
    pub(super) script: Script,
    /// Blocks that are open: their command, and how it is told that one stays so.
    open: Vec<(usize, String)>,
    labels: HashMap<Vec<u8>, usize>,
    /// Jumps, and where to.
    jumps: Vec<(usize, Vec<u8>)>,
    /// A text that goes on in the next piece, of the last command.
    text: Option<Vec<u8>>,
}

/// Reads all pieces as one script.
pub(super) fn parse(pieces: &[(Origin, Vec<u8>)], dialect: Dialect) -> Result<Script, String> {
    let mut parser = Parser {
        dialect,
        script: Script::default(),
        open: Vec::new(),
        labels: HashMap::new(),
        jumps: Vec::new(),
        text: None,
    };
    for (number, (origin, text)) in pieces.iter().enumerate() {
        let mut reader = Reader::new(origin, text);
        // Whatever follows, as in 4.9.
        if number == 0 && text.starts_with(b"#n") {
            parser.script.quiet = true;
        }
        if let Some(begun) = parser.text.take() {
            parser.text(&mut reader, begun)?;
        }
        while parser.command(&mut reader)? {}
    }
    parser.finish()
}

impl Parser {
    fn finish(mut self) -> Result<Script, String> {
        if let Some((_, message)) = self.open.pop() {
            return Err(message);
        }
        if let Some(text) = self.text.take() {
            self.set_text(text);
        }
        for (command, label) in std::mem::take(&mut self.jumps) {
            let target = match (label.is_empty(), self.labels.get(&label)) {
                (true, _) => self.script.commands.len(),
                (false, Some(target)) => *target,
                (false, None) => {
                    let label = String::from_utf8_lossy(&label).into_owned();
                    return Err(format!("can't find label for jump to `{label}'"));
                }
            };
            match &mut self.script.commands[command].action {
                Action::Jump(to) | Action::JumpIf(_, to) => *to = target,
                _ => {}
            }
        }
        Ok(self.script)
    }

    /// Reads one command; `false` at the end of the piece.
    fn command(&mut self, reader: &mut Reader<'_>) -> Result<bool, String> {
        while reader.peek().is_some_and(|byte| byte.is_ascii_whitespace() || byte == b';') {
            reader.at += 1;
        }
        if reader.peek() == Some(b'#') {
            reader.line();
            return Ok(true);
        }
        if reader.peek().is_none() {
            return Ok(false);
        }
        let first = self.address(reader)?;
        let mut second = None;
        if matches!(first, Some(Address::Plus(_) | Address::Multiple(_))) {
            return Err(reader.wrong("invalid usage of +N or ~N as first address"));
        }
        if first.is_some() {
            reader.skip_blanks();
            if reader.peek() == Some(b',') {
                reader.at += 1;
                reader.skip_blanks();
                second = self.address(reader)?;
                if second.is_none() {
                    reader.next();
                    return Err(reader.wrong("unexpected `,'"));
                }
            }
        }
        let mut name = reader.next_nonblank();
        let before_all =
            matches!(second, Some(Address::Pattern(_))) || (second.is_none() && name == Some(b'r'));
        if matches!(first, Some(Address::Line(0))) && (!before_all || self.dialect.posix) {
            return Err(reader.wrong("invalid usage of line address 0"));
        }
        let negated = name == Some(b'!');
        if negated {
            name = reader.next_nonblank();
            if name == Some(b'!') {
                return Err(reader.wrong("multiple `!'s"));
            }
        }
        let name = name.ok_or_else(|| reader.wrong("missing command"))?;
        self.script.commands.push(Command { first, second, negated, action: Action::Nothing });
        let action = self.action(reader, name)?;
        if let (Some(action), Some(last)) = (action, self.script.commands.last_mut()) {
            last.action = action;
        }
        Ok(true)
    }

    fn address(&self, reader: &mut Reader<'_>) -> Result<Option<Address>, String> {
        let Some(first) = reader.peek() else { return Ok(None) };
        Ok(Some(match first {
            b'/' | b'\\' => {
                reader.at += 1;
                let delimiter = if first == b'/' { Some(b'/') } else { reader.next() };
                let pattern = delimiter.and_then(|delimiter| text::delimited(reader, delimiter, true));
                let pattern = pattern.ok_or_else(|| reader.wrong("unterminated address regex"))?;
                let (mut ignore_case, mut lines) = (false, false);
                loop {
                    reader.skip_blanks();
                    match reader.peek() {
                        Some(b'I') => ignore_case = true,
                        Some(b'M') => lines = true,
                        _ => break,
                    }
                    reader.at += 1;
                }
                Address::Pattern(self.pattern(reader, &pattern, ignore_case, lines)?)
            }
            b'0'..=b'9' => {
                let line = reader.number().unwrap_or(0);
                let before = reader.at;
                reader.skip_blanks();
                if reader.peek() == Some(b'~') {
                    reader.at += 1;
                    reader.skip_blanks();
                    match reader.number().unwrap_or(0) {
                        0 => Address::Line(line),
                        step => Address::Step(line, step),
                    }
                } else {
                    reader.at = before;
                    Address::Line(line)
                }
            }
            b'+' | b'~' => {
                reader.at += 1;
                let number = reader.number().unwrap_or(0);
                if first == b'+' { Address::Plus(number) } else { Address::Multiple(number) }
            }
            b'$' => {
                reader.at += 1;
                Address::Last
            }
            _ => return Ok(None),
        }))
    }

    /// Compiles a pattern.
    pub(super) fn pattern(
        &self,
        reader: &Reader<'_>,
        pattern: &[u8],
        ignore_case: bool,
        lines: bool,
    ) -> Result<Pattern, String> {
        if pattern.is_empty() {
            if ignore_case || lines {
                return Err(reader.wrong("cannot specify modifiers on empty regexp"));
            }
            return Ok(None);
        }
        let Dialect { extended, end, .. } = self.dialect;
        let (anchors, newline) =
            if lines { (Anchors::Lines, Newline::None) } else { (Anchors::Text, Newline::All) };
        let syntax = if extended { Syntax::SED_EXTENDED } else { Syntax::BASIC };
        let options = Options { syntax, ignore_case, anchors, newline, end };
        escapes::in_pattern(pattern, extended)
            .and_then(|pattern| Regex::new(&pattern, &options))
            .map(|regex| Some(Rc::new(regex)))
            .map_err(|message| reader.wrong(message))
    }

    /// What a command does; `None` if its text has yet to come.
    fn action(&mut self, reader: &mut Reader<'_>, name: u8) -> Result<Option<Action>, String> {
        let at = self.script.commands.len() - 1;
        let (has_first, has_second) = {
            let command = &self.script.commands[at];
            (command.first.is_some(), command.second.is_some())
        };
        if self.dialect.sandbox && b"erRwW".contains(&name) {
            return Err(reader.wrong("e/r/w commands disabled in sandbox mode"));
        }
        let action = match name {
            b'{' => {
                self.open.push((at, reader.wrong_at(0, "unmatched `{'")));
                return Ok(Some(Action::Block(0)));
            }
            b'}' => {
                let (block, _) = self.open.pop().ok_or_else(|| reader.wrong("unexpected `}'"))?;
                if has_first {
                    return Err(reader.wrong("`}' doesn't want any addresses"));
                }
                self.script.commands[block].action = Action::Block(at + 1);
                Action::Nothing
            }
            b'a' | b'i' | b'c' => {
                reader.skip_blanks();
                let Some(next) = reader.peek() else {
                    return Err(reader.wrong("expected \\ after `a', `c' or `i'"));
                };
                self.script.commands[at].action = match name {
                    b'a' => Action::Append(Vec::new()),
                    b'i' => Action::Insert(Vec::new()),
                    _ => Action::Change(Vec::new()),
                };
                if next == b'\n' {
                    return Ok(None);
                }
                if next == b'\\' {
                    reader.at += 1;
                    if reader.peek().is_none() {
                        self.text = Some(Vec::new());
                        return Ok(None);
                    }
                    let before = reader.at;
                    reader.skip_blanks();
                    if reader.peek() == Some(b'\n') {
                        reader.at += 1;
                    } else {
                        reader.at = before;
                    }
                }
                self.text(reader, Vec::new())?;
                return Ok(None);
            }
            b':' => {
                if has_first {
                    return Err(reader.wrong(": doesn't want any addresses"));
                }
                let label = reader.label();
                if label.is_empty() {
                    return Err(reader.wrong("\":\" lacks a label"));
                }
                self.labels.insert(label, at);
                return Ok(Some(Action::Nothing));
            }
            b'b' | b't' | b'T' => {
                self.jumps.push((at, reader.label()));
                if name == b'b' { Action::Jump(0) } else { Action::JumpIf(name == b't', 0) }
            }
            b'q' | b'Q' if has_second => return Err(reader.wrong("command only uses one address")),
            b'q' | b'Q' => {
                reader.skip_blanks();
                Action::Quit(name == b'Q', reader.number().unwrap_or(0) as u8)
            }
            b'l' => {
                reader.skip_blanks();
                Action::List(reader.number().map(|width| usize::try_from(width).unwrap_or(usize::MAX)))
            }
            b'=' => Action::LineNumber,
            b'd' => Action::Delete,
            b'D' => Action::DeleteLine,
            b'F' => Action::FileName,
            b'g' | b'G' => Action::FromHold(name == b'G'),
            b'h' | b'H' => Action::ToHold(name == b'H'),
            b'x' => Action::Exchange,
            b'n' => Action::Next,
            b'N' => Action::AddNext,
            b'p' => Action::Print,
            b'P' => Action::PrintLine,
            b'z' => Action::Empty,
            b'r' => return Ok(Some(Action::ReadFile(file_name(reader)?))),
            b'R' => return Ok(Some(Action::ReadLine(file_name(reader)?))),
            b'w' => return Ok(Some(Action::Write(self.output(reader)?))),
            b'W' => return Ok(Some(Action::WriteLine(self.output(reader)?))),
            b's' => return substitution::parse(self, reader).map(Some),
            b'y' => Action::Translate(Box::new(text::table(reader)?)),
            b'v' => {
                let version = reader.label();
                if !is_old(&version) {
                    return Err(reader.wrong("expected newer version of sed"));
                }
                Action::Nothing
            }
            b'e' => return Err(reader.wrong("command `e' is not supported: it would run a program")),
            other => {
                return Err(reader.wrong(format_args!("unknown command: `{}'", char::from(other))));
            }
        };
        end_of_command(reader)?;
        Ok(Some(action))
    }

    /// The number of the file that the rest of the line names.
    pub(super) fn output(&mut self, reader: &mut Reader<'_>) -> Result<usize, String> {
        let name = file_name(reader)?;
        let outputs = &mut self.script.outputs;
        if let Some(known) = outputs.iter().position(|known| *known == name) {
            return Ok(known);
        }
        outputs.push(name);
        Ok(outputs.len() - 1)
    }

    fn text(&mut self, reader: &mut Reader<'_>, mut text: Vec<u8>) -> Result<(), String> {
        match text::read(reader, &mut text) {
            Ok(true) => self.set_text(text),
            Ok(false) => self.text = Some(text),
            Err(message) => return Err(reader.wrong(message)),
        }
        Ok(())
    }

    fn set_text(&mut self, given: Vec<u8>) {
        if let Some(Command {
            action: Action::Append(text) | Action::Insert(text) | Action::Change(text),
            ..
        }) = self.script.commands.last_mut()
        {
            *text = given;
        }
    }
}

fn end_of_command(reader: &mut Reader<'_>) -> Result<(), String> {
    reader.skip_blanks();
    match reader.peek() {
        None | Some(b'}' | b'#') => Ok(()),
        Some(b'\n' | b';') => {
            reader.at += 1;
            Ok(())
        }
        Some(_) => {
            reader.at += 1;
            Err(reader.wrong("extra characters after command"))
        }
    }
}

fn file_name(reader: &mut Reader<'_>) -> Result<String, String> {
    match reader.line() {
        [] => Err(reader.wrong("missing filename in r/R/w/W commands")),
        name => Ok(String::from_utf8_lossy(name).into_owned()),
    }
}

/// Whether a version is not above 4.9.
fn is_old(version: &[u8]) -> bool {
    let Ok(text) = std::str::from_utf8(version) else { return false };
    let numbers: Option<Vec<u32>> = text.split('.').map(|part| part.parse().ok()).collect();
    text.is_empty() || numbers.is_some_and(|numbers| numbers.len() < 3 && *numbers <= [4, 9][..])
}
