//! Runs a script over its inputs.

use std::rc::Rc;

use super::failed::Failed;
use super::input::{Got, Inputs, is_stdin};
use super::list::list;
use super::output::{InPlace, Outputs, Sink};
use super::ranges::Range;
use super::reads::Reads;
use super::script::{Action, Address, Pattern, Script};
use crate::exec::commands::Call;
use crate::exec::commands::posix_regex::Regex;

/// How it runs, beside the script.
pub(super) struct Manner<'a> {
    pub(super) quiet: bool,
    pub(super) posix: bool,
    pub(super) in_place: Option<InPlace<'a>>,
    /// Width of `l`.
    pub(super) width: usize,
    /// What ends a line.
    pub(super) end: u8,
}

/// What a `a`, `r` or `R` leaves for the end of the cycle.
enum Later<'a> {
    Text(&'a [u8]),
    File(&'a str),
    Line(Vec<u8>),
}

pub(super) struct Machine<'a> {
    pub(super) call: &'a Call<'a>,
    pub(super) script: &'a Script,
    manner: Manner<'a>,
    pub(super) inputs: Inputs<'a>,
    pub(super) outputs: Outputs<'a>,
    reads: Reads,
    pub(super) pattern_space: Vec<u8>,
    hold_space: Vec<u8>,
    /// As `ended`, of the hold space.
    hold_ended: bool,
    pub(super) scratch: Vec<u8>,
    /// Whether the line that was read last had its end.
    ended: bool,
    pub(super) line_number: u64,
    pub(super) ranges: Vec<Range>,
    /// The pattern that was used last.
    last: Option<Rc<Regex>>,
    /// What `t` asks.
    replaced: bool,
    later: Vec<Later<'a>>,
    /// The next cycle begins without a new line.
    again: bool,
    steps: u32,
    /// Most bytes that are held.
    pub(super) most: usize,
}

/// How a cycle ended.
enum End {
    /// The pattern space is printed.
    Whole,
    /// It is not.
    Silent,
    Quit(u8),
}

pub(super) fn exhausted() -> Failed {
    Failed::new(4, "memory exhausted")
}

impl<'a> Machine<'a> {
    pub(super) fn new(
        call: &'a Call<'a>,
        script: &'a Script,
        manner: Manner<'a>,
        inputs: Inputs<'a>,
        outputs: Outputs<'a>,
    ) -> Self {
        Self {
            call,
            script,
            manner,
            inputs,
            outputs,
            reads: Reads::default(),
            pattern_space: Vec::new(),
            hold_space: Vec::new(),
            hold_ended: true,
            scratch: Vec::new(),
            ended: true,
            line_number: 0,
            ranges: script.commands.iter().map(Range::first).collect(),
            last: None,
            replaced: false,
            later: Vec::new(),
            again: false,
            steps: 0,
            most: usize::try_from(call.files.quota().memory / 2).unwrap_or(usize::MAX),
        }
    }

    /// All cycles. The exit status that the script asks for.
    pub(super) fn run(&mut self) -> Result<u8, Failed> {
        let exit = loop {
            if std::mem::take(&mut self.again) {
                self.finish_cycle()?;
            } else {
                self.pattern_space.clear();
                if !self.read()? {
                    break 0;
                }
            }
            match self.cycle()? {
                End::Whole => self.print_unless_quiet(),
                End::Silent => {}
                End::Quit(exit) => break exit,
            }
        };
        self.finish_cycle()?;
        self.finish_file()?;
        self.outputs.flush()?;
        Ok(exit)
    }

    /// Adds the next line to the pattern space.
    fn read(&mut self) -> Result<bool, Failed> {
        self.finish_cycle()?;
        self.replaced = false;
        let (ended, fresh) = loop {
            if self.inputs.at_end_of_file() {
                self.finish_file()?;
            }
            match self.inputs.next(&mut self.pattern_space)? {
                Got::Line { ended, fresh } => break (ended, fresh),
                Got::Empty => self.outputs.edited = Some(Sink::default()),
                Got::Nothing => return Ok(false),
            }
        };
        if fresh {
            self.line_number = 0;
            self.hold_space.clear();
            self.ranges = self.script.commands.iter().map(Range::first).collect();
            self.reads.rewind();
            if self.manner.in_place.is_some() {
                self.outputs.edited.get_or_insert_default();
            } else {
                self.outputs.stdout.end_line(self.manner.end);
            }
        }
        self.ended = ended;
        self.line_number += 1;
        if self.line_number == 1 {
            // `0r`: ahead of all lines.
            let script = self.script;
            for command in &script.commands {
                if let (Some(Address::Line(0)), Action::ReadFile(name)) = (&command.first, &command.action) {
                    self.later.push(Later::File(name));
                }
            }
            self.finish_cycle()?;
        }
        Ok(true)
    }

    /// What was left for the end of a cycle.
    fn finish_cycle(&mut self) -> Result<(), Failed> {
        for later in std::mem::take(&mut self.later) {
            let end = self.manner.end;
            match later {
                Later::Text(text) => self.outputs.main().put(text, end),
                Later::Line(line) => self.outputs.main().put(&line, end),
                Later::File(name) => {
                    if is_stdin(&self.call.path(name)) {
                        let data = self.inputs.stdin();
                        self.outputs.main().put(data, end);
                        continue;
                    }
                    let data = Reads::all(self.call, name)?;
                    self.outputs.main().put(&data, end);
                }
            }
        }
        Ok(())
    }

    /// Puts what a file became where it is.
    fn finish_file(&mut self) -> Result<(), Failed> {
        let (Some(in_place), Some(sink), Some(source)) =
            (&self.manner.in_place, self.outputs.edited.take(), &self.inputs.current)
        else {
            return Ok(());
        };
        in_place.replace(self.call, &source.name, &sink.data)
    }

    pub(super) fn held(&self) -> usize {
        self.outputs.held() + self.pattern_space.len() + self.hold_space.len()
    }

    /// An error at no place of the script.
    pub(super) fn at_nothing(&self, message: &str) -> Failed {
        Failed::new(1, format!("-e expression #1, char 0: {message}"))
    }

    /// A pattern, or the one that was used last.
    pub(super) fn regex(&mut self, pattern: &Pattern) -> Result<Rc<Regex>, Failed> {
        if let Some(regex) = pattern {
            self.last = Some(regex.clone());
        }
        self.last.clone().ok_or_else(|| self.at_nothing("no previous regular expression"))
    }

    fn print(&mut self) {
        let (ended, end) = (self.ended, self.manner.end);
        self.outputs.edited.as_mut().unwrap_or(&mut self.outputs.stdout).line(
            &self.pattern_space,
            ended,
            end,
        );
    }

    fn print_unless_quiet(&mut self) {
        if !self.manner.quiet {
            self.print();
        }
    }

    /// Prints the text of `i` or `c`.
    fn text(&mut self, text: &[u8]) {
        let end = self.manner.end;
        if let Some(text) = text.strip_suffix(b"\n") {
            self.outputs.main().line(text, true, end);
        }
    }

    /// Up to the first end of a line, and whether there is one.
    fn first_line(&self) -> (&[u8], bool) {
        match memchr::memchr(self.manner.end, &self.pattern_space) {
            Some(at) => (&self.pattern_space[..at], true),
            None => (&self.pattern_space, false),
        }
    }

    fn cycle(&mut self) -> Result<End, Failed> {
        let script = self.script;
        let mut at = 0;
        while let Some(command) = script.commands.get(at) {
            self.steps = self.steps.wrapping_add(1);
            if self.steps.is_multiple_of(64) {
                if self.call.is_over() {
                    return Ok(End::Quit(4));
                }
            }
            if self.held() > self.most {
                return Err(exhausted());
            }
            if !self.selects(at)? {
                at = if let Action::Block(after) = command.action { after } else { at + 1 };
                continue;
            }
            at += 1;
            match &command.action {
                Action::Jump(to) => at = *to,
                Action::JumpIf(wanted, to) => {
                    // Both forget what they ask.
                    if std::mem::take(&mut self.replaced) == *wanted {
                        at = *to;
                    }
                }
                Action::Change(text) => {
                    if !matches!(self.ranges[at - 1], Range::Within(_)) || command.negated {
                        self.text(text);
                    }
                    return Ok(End::Silent);
                }
                action => {
                    if let Some(end) = self.act(action)? {
                        return Ok(end);
                    }
                }
            }
        }
        Ok(End::Whole)
    }

    fn act(&mut self, action: &'a Action) -> Result<Option<End>, Failed> {
        let end = self.manner.end;
        match action {
            Action::Append(text) => self.later.push(Later::Text(text)),
            Action::ReadFile(name) => self.later.push(Later::File(name)),
            Action::ReadLine(name) => {
                if let Some(line) = self.reads.line(self.call, &mut self.inputs, name, end)? {
                    self.later.push(Later::Line(line));
                }
            }
            Action::Insert(text) => {
                self.text(text);
            }
            Action::Delete => return Ok(Some(End::Silent)),
            Action::DeleteLine => {
                if let (line, true) = self.first_line() {
                    self.pattern_space.drain(..line.len() + 1);
                    self.again = true;
                }
                return Ok(Some(End::Silent));
            }
            Action::FileName => {
                let name = self.inputs.current.as_ref().map_or("-", |source| &source.name).to_owned();
                self.outputs.main().line(name.as_bytes(), true, end);
            }
            Action::LineNumber => {
                let number = self.line_number.to_string();
                self.outputs.main().line(number.as_bytes(), true, end);
            }
            Action::FromHold(adds) => {
                if *adds {
                    self.pattern_space.push(end);
                } else {
                    self.pattern_space.clear();
                }
                self.pattern_space.extend_from_slice(&self.hold_space);
                self.ended = self.hold_ended;
            }
            Action::ToHold(adds) => {
                if *adds {
                    self.hold_space.push(end);
                } else {
                    self.hold_space.clear();
                }
                self.hold_space.extend_from_slice(&self.pattern_space);
                self.hold_ended = self.ended;
            }
            Action::Exchange => {
                std::mem::swap(&mut self.pattern_space, &mut self.hold_space);
                std::mem::swap(&mut self.ended, &mut self.hold_ended);
            }
            Action::List(width) => {
                let listed = list(&self.pattern_space, width.unwrap_or(self.manner.width), end);
                self.outputs.main().line(&listed, true, end);
            }
            Action::Next => {
                let over = self.inputs.is_last()?;
                if !(over && self.manner.posix) {
                    self.print_unless_quiet();
                }
                if over {
                    return Ok(Some(End::Silent));
                }
                self.pattern_space.clear();
                self.read()?;
            }
            Action::AddNext => {
                if self.inputs.is_last()? {
                    return Ok(Some(if self.manner.posix { End::Silent } else { End::Whole }));
                }
                self.pattern_space.push(end);
                self.read()?;
            }
            Action::Print => self.print(),
            Action::PrintLine => {
                let (len, whole) = (self.first_line().0.len(), self.first_line().1);
                let ended = whole || self.ended;
                let main = self.outputs.edited.as_mut().unwrap_or(&mut self.outputs.stdout);
                main.line(&self.pattern_space[..len], ended, end);
            }
            Action::Quit(silent, exit) => {
                if *silent {
                    self.later.clear();
                } else {
                    self.print_unless_quiet();
                    self.outputs.main().end_line(end);
                }
                return Ok(Some(End::Quit(*exit)));
            }
            Action::Substitute(given) => {
                if self.substitute(given)? {
                    self.replaced = true;
                    if given.print {
                        self.print();
                    }
                    if let Some(output) = given.output {
                        self.outputs.write(output, &self.pattern_space, self.ended);
                    }
                }
            }
            Action::Write(output) => self.outputs.write(*output, &self.pattern_space, self.ended),
            Action::WriteLine(output) => {
                let (len, whole) = (self.first_line().0.len(), self.first_line().1);
                self.outputs.write(*output, &self.pattern_space[..len], whole || self.ended);
            }
            Action::Translate(table) => self.translate(table),
            Action::Empty => self.pattern_space.clear(),
            Action::Block(_) | Action::Nothing | Action::Jump(_) | Action::JumpIf(..) | Action::Change(_) => {
            }
        }
        Ok(None)
    }
}
