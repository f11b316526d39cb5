//! `grep`, `egrep` and `fgrep`, as of GNU grep 3.8, in a UTF-8 locale. `-P` takes what crates
//! `regex` and `fancy-regex` have words for. Left out: `GREP_COLORS`, and that the file which the
//! output goes to is not searched.

use self::engine::Engine;
use self::files::{Found, Walk};
use self::options::{Directories, Names, Options, Source, Syntax};
use self::search::{Search, Sink};
use super::filter::{Filter, Next};
use super::input::is_stdin;
use super::{Answer, Call};
use crate::fs::{Errno, Kind};

mod engine;
mod files;
mod options;
mod perl;
mod print;
mod search;
mod symbols;

/// Exit when something went wrong; 1 tells that no line was selected.
const FAILED: u8 = 2;

/// Size of what is no file, for the width of numbers.
const UNKNOWN_SIZE: u64 = i64::MAX as u64;

/// Output that waits while files are searched.
const FULL: usize = 64 << 10;

/// Begins `grep`.
pub(super) fn grep<'a>(call: &Call<'a>) -> Result<Box<dyn Filter + 'a>, Answer> {
    begin(call, None)
}

/// Begins `egrep`.
pub(super) fn egrep<'a>(call: &Call<'a>) -> Result<Box<dyn Filter + 'a>, Answer> {
    begin(call, Some(Syntax::Extended))
}

/// Begins `fgrep`.
pub(super) fn fgrep<'a>(call: &Call<'a>) -> Result<Box<dyn Filter + 'a>, Answer> {
    begin(call, Some(Syntax::Fixed))
}

fn begin<'a>(call: &Call<'a>, syntax: Option<Syntax>) -> Result<Box<dyn Filter + 'a>, Answer> {
    let options = Options::of(call.args, syntax).map_err(|refusal| refusal.answer("grep", FAILED))?;
    let from_stdin =
        options.patterns.iter().any(|source| matches!(source, Source::File(name) if is_stdin(call, name)));
    Ok(Box::new(Grep {
        next_operand: 0,
        state: if from_stdin { State::Patterns(Vec::new()) } else { State::Start },
        options,
        engine: None,
        used: false,
        selected: false,
        failed: false,
        stdin_read: from_stdin,
    }))
}

struct Grep<'a> {
    options: Options<'a>,
    engine: Option<Engine>,
    state: State,
    next_operand: usize,
    used: bool,
    /// A line was.
    selected: bool,
    failed: bool,
    stdin_read: bool,
}

enum State {
    /// Patterns come by standard input: what of them is there.
    Patterns(Vec<u8>),
    Start,
    Operands,
    Walk(Walk),
    Stream(Box<Stream>),
    Over,
}

/// Standard input on its way.
struct Stream {
    search: Search,
    /// What of it may still be printed, or has not ended as a line.
    buffer: Vec<u8>,
    /// Where in it the line begins that has not ended.
    from: usize,
}

impl Filter for Grep<'_> {
    fn step(&mut self, call: &Call<'_>, input: Option<&[u8]>, answer: &mut Answer) -> Next {
        match std::mem::replace(&mut self.state, State::Operands) {
            State::Patterns(mut read) => match input {
                None | Some([_, ..]) => {
                    read.extend_from_slice(input.unwrap_or_default());
                    self.state = State::Patterns(read);
                    return Next::Input;
                }
                Some([]) => self.start(call, &read, answer),
            },
            State::Start => self.start(call, &[], answer),
            State::Operands => self.operand(call, answer),
            State::Walk(walk) => self.walk(call, walk, answer),
            State::Stream(stream) => {
                let Some(fresh) = input else {
                    self.state = State::Stream(stream);
                    return Next::Input;
                };
                self.stream(stream, fresh, answer);
            }
            State::Over => self.state = State::Over,
        }
        if self.options.quiet && self.selected {
            answer.exit = 0;
            return Next::Done;
        }
        match self.state {
            State::Over => {
                answer.exit = if self.failed { FAILED } else { u8::from(!self.selected) };
                Next::Done
            }
            State::Stream(..) => Next::Input,
            _ => Next::Again,
        }
    }
}

impl Grep<'_> {
    /// Ends, for it cannot go on.
    fn give_up(&mut self, message: &str, answer: &mut Answer) {
        answer.complain(FAILED, format!("grep: {message}"));
        (self.failed, self.state) = (true, State::Over);
    }

    /// A file that cannot be read.
    fn complain(&mut self, name: &str, errno: Errno, answer: &mut Answer) {
        if self.options.messages {
            answer.complain(FAILED, format!("grep: {name}: {errno}"));
        }
        self.failed = true;
    }

    fn start(&mut self, call: &Call<'_>, stdin: &[u8], answer: &mut Answer) {
        for warning in &self.options.warnings {
            answer.complain(0, format!("grep: warning: {warning}"));
        }
        let mut text = Vec::new();
        for source in &self.options.patterns {
            match source {
                Source::Text(pattern) => {
                    text.extend_from_slice(pattern.as_bytes());
                    text.push(b'\n');
                }
                Source::File(name) if is_stdin(call, name) => end_line(&mut text, stdin),
                Source::File(name) => match call.read(name) {
                    Ok(data) => end_line(&mut text, &data),
                    Err(errno) => return self.give_up(&format!("{name}: {errno}"), answer),
                },
            }
        }
        if let Err((name, errno)) = self.options.globs.read_lists(call) {
            return self.give_up(&format!("{name}: {errno}"), answer);
        }
        let mut patterns: Vec<&[u8]> = match text.strip_suffix(b"\n") {
            Some(lines) => lines.split(|&byte| byte == b'\n').collect(),
            None => Vec::new(),
        };
        if self.options.syntax == Syntax::Perl && patterns.len() > 1 {
            return self.give_up("the -P option only supports a single pattern", answer);
        }
        let mut seen = std::collections::HashSet::new();
        patterns.retain(|&pattern| seen.insert(pattern));
        let mut warn = |warning: &str| answer.complain(0, format!("grep: warning: {warning}"));
        match Engine::new(&patterns, &self.options, &mut warn) {
            Ok(engine) => self.engine = Some(engine),
            Err(message) => return self.give_up(&message, answer),
        }
        if self.options.most == 0 {
            self.state = State::Over;
        }
    }

    /// Begins with the next operand.
    fn operand(&mut self, call: &Call<'_>, answer: &mut Answer) {
        let Some(&operand) = self.options.operands.get(self.next_operand) else {
            self.state = State::Over;
            return;
        };
        self.next_operand += 1;
        if is_stdin(call, operand) {
            let name = if operand == "-" { self.options.label } else { operand };
            // Read once, it is at its end.
            if std::mem::replace(&mut self.stdin_read, true) {
                return self.data(name.to_owned(), &[], answer);
            }
            let search = Search::new(name.to_owned(), UNKNOWN_SIZE, &self.options);
            self.state = State::Stream(Box::new(Stream { search, buffer: Vec::new(), from: 0 }));
            return;
        }
        let path = call.path(operand);
        let lent = call.lent.get(operand);
        let stat = match lent {
            Some(lent) => Ok(lent.stat),
            None => call.files.stat(&path, true),
        };
        let stat = match stat {
            Ok(stat) => stat,
            Err(errno) => return self.complain(operand, errno, answer),
        };
        if stat.kind == Kind::Dir {
            if self.options.implied {
                return self.enter(call, "", &path, answer);
            }
            match self.options.directories {
                Directories::Skip => {}
                _ if self.options.globs.skip_dir(operand.trim_end_matches('/'), true) => {}
                Directories::Read => self.complain(operand, Errno::EISDIR, answer),
                Directories::Recurse => self.enter(call, operand, &path, answer),
            }
            return;
        }
        let device = lent.is_none() && stat.ino == 0;
        if (device && self.options.skip_devices) || self.options.globs.skip_file(operand, true) {
            return;
        }
        match call.read(operand) {
            Ok(data) => self.data(operand.to_owned(), &data, answer),
            Err(errno) => self.complain(operand, errno, answer),
        }
    }

    fn enter(&mut self, call: &Call<'_>, shown: &str, path: &str, answer: &mut Answer) {
        match Walk::new(call, shown, path) {
            Ok(walk) => self.state = State::Walk(walk),
            Err(errno) => self.complain(shown, errno, answer),
        }
    }

    /// Searches files until there is enough to print.
    fn walk(&mut self, call: &Call<'_>, mut walk: Walk, answer: &mut Answer) {
        while let Some(found) = walk.next(call, &self.options.globs, self.options.follow) {
            match found {
                Found::File(shown, ino) => match call.files.read_file(ino) {
                    Ok(data) => self.data(shown, &data, answer),
                    Err(errno) => self.complain(&shown, errno, answer),
                },
                Found::Link(shown, path) => match call.files.read(&path) {
                    Ok(data) => self.data(shown, &data, answer),
                    Err(errno) => self.complain(&shown, errno, answer),
                },
                Found::Lent(shown) => {
                    let data = call.lent.get(&shown).map(|lent| lent.data.clone()).unwrap_or_default();
                    self.data(shown, &data, answer);
                }
                Found::Failed(shown, errno) => self.complain(&shown, errno, answer),
                Found::Loop(shown) => {
                    if self.options.messages {
                        answer.complain(0, format!("grep: {shown}: warning: recursive directory loop"));
                    }
                }
            }
            if call.is_over() || (self.options.quiet && self.selected) || matches!(self.state, State::Over) {
                return;
            }
            if answer.stdout.len() > FULL {
                self.state = State::Walk(walk);
                return;
            }
        }
    }

    /// Searches a file.
    fn data(&mut self, name: String, data: &[u8], answer: &mut Answer) {
        let mut search = Search::new(name, data.len() as u64, &self.options);
        let Some(engine) = &mut self.engine else { return };
        let mut sink = Sink { options: &self.options, out: &mut answer.stdout, used: &mut self.used };
        let searched = search.whole(data, engine, &mut sink);
        self.ended(&search, searched, answer);
    }

    /// Takes some bytes of standard input, none at its end.
    fn stream(&mut self, mut stream: Box<Stream>, fresh: &[u8], answer: &mut Answer) {
        let Some(engine) = &mut self.engine else { return };
        let options = &self.options;
        let Stream { search, buffer, from } = &mut *stream;
        let old = buffer.len();
        buffer.extend_from_slice(fresh);
        if search.is_binary(fresh, options) {
            search.turn_binary(&mut buffer[old..], options);
        }
        let to = if fresh.is_empty() {
            buffer.len()
        } else {
            memchr::memrchr(options.end, &buffer[old..]).map_or(*from, |at| old + at + 1)
        };
        let mut sink = Sink { options, out: &mut answer.stdout, used: &mut self.used };
        let searched = if *from < to && !search.over {
            search.lines_of(buffer, *from, to, engine, &mut sink)
        } else {
            Ok(())
        };
        if fresh.is_empty() || search.over || searched.is_err() {
            return self.ended(&stream.search, searched, answer);
        }
        if *from < to {
            let cut = search.kept_from(buffer, to, options);
            search.cut(buffer, cut, options);
            buffer.drain(..cut);
            *from = to - cut;
        }
        self.state = State::Stream(stream);
    }

    /// What is told when a file is through.
    fn ended(&mut self, search: &Search, searched: Result<(), String>, answer: &mut Answer) {
        let options = &self.options;
        self.selected |= search.count > 0;
        if let Err(message) = searched {
            return self.give_up(&format!("{}: {message}", search.name), answer);
        }
        if options.count {
            print::count(options, &search.name, search.count, &mut answer.stdout);
        }
        let named = match options.names {
            Names::No => false,
            Names::Matching => search.count > 0,
            Names::Other => search.count == 0,
        };
        if named {
            print::name(options, &search.name, &mut answer.stdout);
        }
        if search.binary_matches {
            answer.complain(0, format!("grep: {}: binary file matches", search.name));
        }
    }
}

/// Appends lines, the last with its end.
fn end_line(text: &mut Vec<u8>, lines: &[u8]) {
    text.extend_from_slice(lines);
    if lines.last().is_some_and(|&last| last != b'\n') {
        text.push(b'\n');
    }
}
