//! What a script comes to.

use std::rc::Rc;

use crate::exec::commands::posix_regex::Regex;

/// A pattern; none stands for the one that was used last.
pub(super) type Pattern = Option<Rc<Regex>>;

/// All commands, in order.
#[derive(Default)]
pub(super) struct Script {
    pub(super) commands: Vec<Command>,
    /// Files that `w` and the like write, by their number.
    pub(super) outputs: Vec<String>,
    /// `#n` at its beginning.
    pub(super) quiet: bool,
}

pub(super) struct Command {
    pub(super) first: Option<Address>,
    pub(super) second: Option<Address>,
    /// `!`.
    pub(super) negated: bool,
    pub(super) action: Action,
}

#[derive(Clone)]
pub(super) enum Address {
    Line(u64),
    /// `first~step`.
    Step(u64, u64),
    Last,
    Pattern(Pattern),
    /// `addr,+N`.
    Plus(u64),
    /// `addr,~N`.
    Multiple(u64),
}

pub(super) enum Action {
    /// `{`: where it goes on if the block is not for this line.
    Block(usize),
    /// `}`, `:`, and what else does nothing.
    Nothing,
    Append(Vec<u8>),
    Insert(Vec<u8>),
    Change(Vec<u8>),
    /// `b`, and where to.
    Jump(usize),
    /// `t`, or `T` if it jumps unless something was replaced.
    JumpIf(bool, usize),
    Delete,
    DeleteLine,
    FileName,
    /// `g`, `G`, `h`, `H`, `x`: `true` adds.
    FromHold(bool),
    ToHold(bool),
    Exchange,
    List(Option<usize>),
    Next,
    AddNext,
    Print,
    PrintLine,
    /// `q`, or `Q` if it is silent.
    Quit(bool, u8),
    ReadFile(String),
    ReadLine(String),
    Substitute(Box<Substitution>),
    Write(usize),
    WriteLine(usize),
    Translate(Box<Table>),
    LineNumber,
    Empty,
}

pub(super) struct Substitution {
    pub(super) pattern: Pattern,
    pub(super) replacement: Vec<Piece>,
    /// The highest group that the replacement names.
    pub(super) highest: usize,
    /// From which match on.
    pub(super) from: u64,
    pub(super) global: bool,
    pub(super) print: bool,
    pub(super) output: Option<usize>,
}

/// A piece of a replacement.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Piece {
    Text(Vec<u8>),
    Group(usize),
    Case(Case),
}

/// What becomes of letters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Case {
    Upper,
    Lower,
    /// `\u`, `\l`: of the next one.
    NextUpper,
    NextLower,
    /// `\E`.
    Same,
}

/// Of `y`: character by character, each with what it becomes.
pub(super) struct Table {
    /// Of ASCII to ASCII.
    pub(super) bytes: [u8; 256],
    /// All others.
    pub(super) others: Vec<(Vec<u8>, Vec<u8>)>,
}
