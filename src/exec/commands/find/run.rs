//! A search under way. It stops for each command of `-exec` and goes on when that has ended.

use std::collections::VecDeque;
use std::sync::Arc;

use super::act::{Act, Exec, Sink};
use super::moments;
use super::program::Step;
use super::{Answer, Asked};
use crate::exec::commands::stat::{blocks, mode_text};
use crate::exec::commands::walk::{Entry, Trouble, Walk};
use crate::exec::commands::{absolute, quote};
use crate::fs::{Errno, Kind, Sight, WorkingCopy};

/// Entries between two looks at whether the exec is being ended.
const ENTRIES: u32 = 64;

/// Files that are printed to.
#[derive(Debug, Default)]
pub(super) struct Outs(Vec<(String, Vec<u8>)>);

impl Outs {
    /// Makes a file empty. What is printed to one by several goes there in its order.
    pub(super) fn open(&mut self, files: &WorkingCopy, path: String) -> Result<Sink, Errno> {
        let known = self.0.iter().position(|(known, _)| *known == path);
        let at = match known {
            Some(at) => at,
            None => {
                files.write(crate::exec::commands::new_name(&path)?, &[])?;
                self.0.push((path, Vec::new()));
                self.0.len() - 1
            }
        };
        Ok(Sink::File(at))
    }
}

/// What a command was run for.
enum After {
    /// To learn whether there is one.
    Search(usize),
    Answer,
    /// It has its names; its failure is that of the whole.
    Batch,
}

/// A search, with what it has printed since it was last asked.
pub(crate) struct Run {
    files: Arc<WorkingCopy>,
    now_ns: i64,
    walk: Walk,
    program: Vec<Step>,
    outs: Outs,
    execs: Vec<Exec>,
    /// Answers to the questions of `-ok`.
    replies: VecDeque<u8>,
    entry: Option<Entry>,
    step: usize,
    truth: bool,
    after: Option<After>,
    ends: bool,
    met: u32,
    /// Bytes that may be printed before somebody takes them.
    most: usize,
    answer: Answer,
}

impl Run {
    pub(super) fn new(
        files: &Arc<WorkingCopy>,
        asked: Asked,
        stdin: &[u8],
        now_ns: i64,
    ) -> Result<Self, Errno> {
        let mut answer = Answer::default();
        for line in &asked.warnings {
            answer.complain(0, format!("find: warning: {line}"));
        }
        for line in &asked.trouble {
            answer.complain(1, format!("find: {line}"));
        }
        let asks = asked.execs.iter().any(|exec| exec.asks);
        Ok(Self {
            files: files.clone(),
            now_ns,
            walk: Walk::new(files.clone(), asked.plan)?,
            program: asked.program,
            outs: asked.outs,
            execs: asked.execs,
            replies: if asks { stdin.iter().copied().collect() } else { VecDeque::new() },
            entry: None,
            step: 0,
            truth: true,
            after: None,
            ends: false,
            met: 0,
            most: usize::try_from(files.quota().memory).unwrap_or(usize::MAX),
            answer,
        })
    }

    /// What was printed since this was last asked, and the exit so far.
    pub(crate) fn take(&mut self) -> Answer {
        let exit = self.answer.exit;
        std::mem::replace(&mut self.answer, Answer { exit, ..Answer::default() })
    }

    /// Goes on, `status` being that of the command that it stopped for. The next command, as a
    /// line for the shell; `None`: it has ended.
    pub(crate) fn resume(&mut self, status: u8) -> Option<String> {
        if let Some(after) = self.after.take() {
            match after {
                After::Search(exec) => self.execs[exec].known = Some(status == 0),
                After::Answer => {
                    self.truth = status == 0;
                    self.step += 1;
                }
                After::Batch if status != 0 => self.answer.exit = 1,
                After::Batch => {}
            }
            self.walk.refresh();
        }
        while !self.ends {
            if self.entry.is_none() {
                self.met = self.met.wrapping_add(1);
                let over = self.met.is_multiple_of(ENTRIES) && self.files.fatal().is_some();
                if over || self.is_full() {
                    return None;
                }
                self.entry = self.walk.next();
                for trouble in std::mem::take(&mut self.walk.trouble) {
                    self.answer.complain(1, format!("find: {}", told(&trouble)));
                }
                (self.step, self.truth) = (0, true);
            }
            let Some(entry) = self.entry else { break };
            if let Some(command) = self.evaluate(&entry) {
                return Some(command);
            }
            self.entry = None;
        }
        self.ends = true;
        // What still waits for more names.
        for at in 0..self.execs.len() {
            if self.execs[at].waits()
                && let Some(command) = self.batch(at)
            {
                return Some(command);
            }
        }
        for (path, data) in std::mem::take(&mut self.outs.0) {
            if let Err(errno) = self.files.write(&path, &data) {
                self.answer.complain(1, format!("find: {}: {errno}", quote::locale(&path)));
            }
        }
        None
    }

    /// What was printed is more than a script may hold.
    fn is_full(&mut self) -> bool {
        let held: usize = self.outs.0.iter().map(|(_, data)| data.len()).sum();
        let full = self.answer.stdout.len() + self.answer.stderr.len() + held > self.most;
        if full {
            self.answer.complain(1, format!("find: more than {} bytes to print: stopped", self.most));
        }
        full
    }

    fn evaluate(&mut self, entry: &Entry) -> Option<String> {
        while let Some(step) = self.program.get(self.step) {
            match step {
                Step::Not => self.truth = !self.truth,
                Step::IfNo(to) if !self.truth => {
                    self.step = *to;
                    continue;
                }
                Step::IfYes(to) if self.truth => {
                    self.step = *to;
                    continue;
                }
                Step::IfNo(_) | Step::IfYes(_) => {}
                Step::Test(test) => match test.holds(&self.walk, entry) {
                    Ok(truth) => self.truth = truth,
                    Err(errno) => {
                        self.truth = false;
                        self.cannot(entry, errno);
                    }
                },
                Step::Act(Act::Exec(exec)) => {
                    if let Some(command) = self.exec(*exec, entry) {
                        return Some(command);
                    }
                }
                Step::Act(_) => {
                    self.act(entry);
                    if self.ends {
                        return None;
                    }
                }
            }
            self.step += 1;
        }
        None
    }

    fn cannot(&mut self, entry: &Entry, errno: Errno) {
        let line = format!("find: {}: {errno}", quote::locale(self.walk.path(entry)));
        self.answer.complain(1, line);
    }

    fn act(&mut self, entry: &Entry) {
        self.truth = true;
        let Some(Step::Act(act)) = self.program.get(self.step) else { return };
        let (sink, listed) = match act {
            Act::Print(sink, _) | Act::Printf(sink, _) => (*sink, String::new()),
            Act::List(sink) => (*sink, list(&self.walk, entry, self.now_ns)),
            Act::Delete => return self.delete(entry),
            Act::Prune => return self.walk.prune(),
            Act::Quit => {
                self.ends = true;
                return;
            }
            Act::Exec(_) => return,
        };
        let out = match sink {
            Sink::Stdout => &mut self.answer.stdout,
            Sink::Stderr => &mut self.answer.stderr,
            Sink::File(at) => &mut self.outs.0[at].1,
        };
        match act {
            Act::Print(_, end) => {
                out.extend_from_slice(self.walk.path(entry).as_bytes());
                out.push(*end);
            }
            Act::Printf(_, format) => format.print(&self.walk, entry, self.most, out),
            _ => out.extend_from_slice(listed.as_bytes()),
        }
    }

    fn delete(&mut self, entry: &Entry) {
        if self.walk.path(entry) == "." {
            return;
        }
        let path = self.walk.absolute(entry);
        let is_dir = entry.stat.kind == Kind::Dir && entry.link.is_none();
        let removed = if is_dir { self.files.rmdir(&path) } else { self.files.unlink(&path) };
        if let Err(errno) = removed {
            self.truth = false;
            let name = quote::locale(self.walk.path(entry));
            self.answer.complain(1, format!("find: cannot delete {name}: {errno}"));
        }
        self.walk.refresh();
    }

    /// The command to run now, if there is one; else the step is done.
    fn exec(&mut self, at: usize, entry: &Entry) -> Option<String> {
        let above = self.walk.above(entry);
        let (name, dir) = if self.execs[at].in_dir {
            let name = &self.walk.path(entry)[above.len()..];
            let name = if name.starts_with('/') { name.to_owned() } else { format!("./{name}") };
            let dir = if above.is_empty() { "" } else { above };
            (name, absolute(&self.walk.plan().cwd, if dir.is_empty() { "." } else { dir }))
        } else {
            (self.walk.path(entry).to_owned(), String::new())
        };
        if self.execs[at].known.is_none() {
            if let Some(search) = self.execs[at].search() {
                self.after = Some(After::Search(at));
                return Some(search);
            }
            self.execs[at].known = Some(true);
        }
        if self.execs[at].many {
            if self.execs[at].is_full(&name, &dir) {
                // The step is done again when the command has ended.
                if let Some(command) = self.batch(at) {
                    return Some(command);
                }
            }
            self.execs[at].add(&name, &dir);
            self.truth = true;
            return None;
        }
        self.truth = false;
        if self.execs[at].asks && !self.agreed(at, entry) {
            return None;
        }
        if self.execs[at].known == Some(false) {
            self.missing(at);
            return None;
        }
        self.after = Some(After::Answer);
        Some(self.execs[at].for_one(&name, &dir))
    }

    fn batch(&mut self, at: usize) -> Option<String> {
        let command = self.execs[at].for_all();
        if self.execs[at].known == Some(false) {
            self.missing(at);
            self.answer.exit = 1;
            return None;
        }
        self.after = Some(After::Batch);
        Some(command)
    }

    fn missing(&mut self, at: usize) {
        let name = quote::locale(&self.execs[at].words[0]);
        self.answer.complain(0, format!("find: {name}: {}", Errno::ENOENT));
    }

    /// Asks on stderr; the answer is the next line of standard input.
    fn agreed(&mut self, at: usize, entry: &Entry) -> bool {
        let question = format!("< {} ... {} > ? ", self.execs[at].words[0], self.walk.path(entry));
        self.answer.stderr.extend_from_slice(question.as_bytes());
        let first = self.replies.front().copied();
        while self.replies.pop_front().is_some_and(|byte| byte != b'\n') {}
        matches!(first, Some(b'y' | b'Y'))
    }
}

/// Why something is not shown.
fn told(trouble: &Trouble) -> String {
    match trouble {
        Trouble::Errno(path, errno) => format!("{}: {errno}", quote::locale(path)),
        Trouble::Loop(path, above) => {
            let (path, above) = (quote::locale(path), quote::locale(above));
            format!("File system loop detected; {path} is part of the same file system loop as {above}.")
        }
    }
}

/// A line of `-ls`.
fn list(walk: &Walk, entry: &Entry, now_ns: i64) -> String {
    let stat = &entry.stat;
    let device = Sight::is_device(entry.ino);
    let size = if device { "0,   0".to_owned() } else { stat.size.to_string() };
    let mut line = format!(
        "{:>9} {:>6} {} {:>3} {:<8} {:<8} {size:>8} {} {}",
        stat.ino,
        blocks(stat, device).div_ceil(2),
        mode_text(stat.kind, device, stat.mode),
        stat.nlink,
        "user",
        "user",
        moments::listed(stat.mtime_ns, now_ns),
        escaped(walk.path(entry)),
    );
    if let Some(target) = walk.sight().target(entry.ino).filter(|_| stat.kind == Kind::Symlink) {
        line.push_str(" -> ");
        line.push_str(&escaped(&target));
    }
    line.push('\n');
    line
}

/// A name as `-ls` shows it: a string of C without its quotes, a space being escaped too.
fn escaped(name: &str) -> String {
    let text = quote::c_quoted(name, true);
    text[1..text.len() - 1].replace(' ', "\\ ")
}
