//! Which lines a command is for.

use super::failed::Failed;
use super::machine::Machine;
use super::script::{Address, Command};

/// Where a command with two addresses stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Range {
    Before,
    /// Up to a line, if its second address is one.
    Within(u64),
    /// Begun at a line's number, which does not come again.
    After,
}

impl Range {
    /// How a command begins: `0,/x/` is within at once.
    pub(super) fn first(command: &Command) -> Self {
        if matches!(command.first, Some(Address::Line(0))) { Self::Within(0) } else { Self::Before }
    }
}

impl Machine<'_> {
    /// Whether a command is for the present line.
    pub(super) fn selects(&mut self, number: usize) -> Result<bool, Failed> {
        let command = &self.script.commands[number];
        let Some(first) = &command.first else { return Ok(!command.negated) };
        let selected = match &command.second {
            None => self.is_at(first)?,
            Some(second) => self.is_within(number, first, second)?,
        };
        Ok(selected != command.negated)
    }

    fn is_at(&mut self, address: &Address) -> Result<bool, Failed> {
        Ok(match address {
            Address::Line(line) => *line == self.line_number,
            Address::Step(first, step) => {
                self.line_number.checked_sub(*first).is_some_and(|beyond| beyond % step == 0)
            }
            Address::Last => self.inputs.is_last()?,
            Address::Pattern(pattern) => {
                let regex = self.regex(pattern)?;
                regex.is_match(&self.pattern_space)?
            }
            Address::Plus(_) | Address::Multiple(_) => false,
        })
    }

    fn is_within(&mut self, number: usize, first: &Address, second: &Address) -> Result<bool, Failed> {
        let line = self.line_number;
        if let Range::Within(end) = self.ranges[number] {
            let (ends, selected) = match second {
                Address::Line(_) => (line >= end, line <= end),
                // One line at least, even beyond.
                Address::Plus(_) | Address::Multiple(_) => (line >= end, true),
                other => (self.is_at(other)?, true),
            };
            if ends {
                self.ranges[number] = Range::After;
            }
            return Ok(selected);
        }
        let begins = match first {
            // It may have been passed unseen.
            Address::Line(from) => self.ranges[number] == Range::Before && line >= *from,
            other => self.is_at(other)?,
        };
        if !begins {
            return Ok(false);
        }
        let end = match second {
            Address::Line(end) => *end,
            Address::Plus(more) => line.saturating_add(*more),
            // The next one, though this line be one already.
            Address::Multiple(of) => {
                line.checked_div(*of).map_or(line, |times| (times + 1).saturating_mul(*of))
            }
            _ => u64::MAX,
        };
        self.ranges[number] = if end > line { Range::Within(end) } else { Range::After };
        let passed =
            matches!((first, second), (Address::Line(from), Address::Line(to)) if *to < line && *from < line);
        Ok(!passed)
    }
}
