//! `sqlite3`, as of SQLite's shell 3.40, on files of the sandbox. The file's bytes are the
//! database (`sqlite3/database.rs`): no file of the machine is ever opened, and what changed is written
//! back once, at the end.

use super::{Answer, Call};

mod database;
mod dot;
mod dump;
mod input;
mod output;

use database::Database;
use output::{Mode, Style};

const USAGE: &str = "\
Usage: sqlite3 [OPTIONS] [FILENAME [SQL]]
FILENAME is the name of an SQLite database. A new database is created
if the file does not previously exist. Without it: a database in memory.
OPTIONS include:
   -bail                stop after hitting an error
   -batch               no effect: there is no terminal
   -box, -column, -csv, -json, -line, -list, -markdown, -quote, -table, -tabs
                        set the output mode
   -cmd COMMAND         run \"COMMAND\" before reading stdin
   -[no]header          turn headers on or off
   -help                show this message
   -newline SEP, -nullvalue TEXT, -separator SEP
   -readonly            open the database read-only
   -version             show SQLite version
";

/// A run of the shell.
struct Shell<'a> {
    call: &'a Call<'a>,
    database: Database,
    style: Style,
    answer: Answer,
    /// Stops at the first error.
    bail: bool,
    over: bool,
    /// How deep `.read` is in itself.
    depth: usize,
    /// Where output goes instead of standard output, and whether for one command alone.
    redirect: Option<(String, bool)>,
    redirected: Vec<u8>,
}

/// Where a piece of SQL stands.
#[derive(Clone, Copy)]
enum Origin {
    /// An argument.
    Argument,
    /// A line of a file or of standard input.
    Line(usize),
}

/// Runs it.
pub(super) fn run(call: &Call<'_>) -> Answer {
    match start(call) {
        Ok(answer) | Err(answer) => answer,
    }
}

fn start(call: &Call<'_>) -> Result<Answer, Answer> {
    let (mut style, mut bail, mut read_only) = (Style::default(), false, false);
    let (mut file, mut commands, mut first) = (None, Vec::new(), Vec::new());
    let mut args = call.args.iter();
    while let Some(arg) = args.next() {
        let Some(option) = arg.strip_prefix('-').filter(|name| !name.is_empty()) else {
            if file.is_none() {
                file = Some(arg.clone());
            } else {
                commands.push(arg.clone());
            }
            continue;
        };
        let option = option.strip_prefix('-').unwrap_or(option);
        let mut value =
            || args.next().cloned().ok_or_else(|| misused(&format!("missing argument to -{option}")));
        match option {
            "bail" => bail = true,
            "batch" | "interactive" | "nofollow" => {}
            "cmd" => first.push(value()?),
            "header" => style.headers = Some(true),
            "noheader" => style.headers = Some(false),
            "separator" => style.column = Some(input::unescape(&value()?)),
            "newline" => style.row = Some(input::unescape(&value()?)),
            "nullvalue" => style.null = value()?,
            "readonly" => read_only = true,
            "help" => return Ok(said(USAGE)),
            "version" => return Ok(said(&format!("{}\n", rusqlite::version()))),
            _ => match Mode::of(option) {
                Some(mode) => style.mode = mode,
                None => return Err(misused(&format!("unknown option: -{option}"))),
            },
        }
    }
    let database = match Database::open(call, file.as_deref(), read_only) {
        Ok(database) => database,
        Err(message) => {
            let mut answer = Answer::default();
            answer.complain(1, format!("Error: {message}"));
            return Err(answer);
        }
    };
    let mut shell = Shell {
        call,
        database,
        style,
        answer: Answer::default(),
        bail,
        over: false,
        depth: 0,
        redirect: None,
        redirected: Vec::new(),
    };
    for command in &first {
        shell.argument(command);
    }
    for command in &commands {
        if shell.over || shell.answer.exit != 0 {
            break;
        }
        shell.argument(command);
    }
    if commands.is_empty() && !shell.over {
        let text = String::from_utf8_lossy(call.stdin).into_owned();
        shell.script(&text);
    }
    Ok(shell.finish())
}

fn said(text: &str) -> Answer {
    Answer { stdout: text.as_bytes().to_vec(), ..Answer::default() }
}

fn misused(message: &str) -> Answer {
    let mut answer = Answer::default();
    answer.complain(1, format!("sqlite3: Error: {message}"));
    answer.complain(1, "Use -help for a list of options.");
    answer
}

impl Shell<'_> {
    /// One argument: a command of the shell, or SQL.
    fn argument(&mut self, text: &str) {
        if text.trim_start().starts_with('.') {
            if let Err(message) = self.dot(text.trim()) {
                self.answer.complain(1, format!("Error: {message}"));
            }
            self.end_of_command();
        } else {
            self.sql(text, Origin::Argument);
        }
    }

    /// Lines of commands and SQL.
    fn script(&mut self, text: &str) {
        let (mut pending, mut begun) = (String::new(), 1);
        for (number, line) in text.lines().enumerate() {
            if self.over || self.call.is_over() {
                return;
            }
            if pending.trim().is_empty() {
                pending.clear();
                begun = number + 1;
                if line.starts_with('.') {
                    if let Err(message) = self.dot(line.trim_end()) {
                        self.failed(1, &format!("Error: {message}"));
                    }
                    self.end_of_command();
                    continue;
                }
                if line.trim_start().starts_with('#') && line.starts_with('#') {
                    continue;
                }
            }
            pending.push_str(line);
            pending.push('\n');
            if input::is_complete(&pending) {
                let sql = std::mem::take(&mut pending);
                self.sql(&sql, Origin::Line(begun));
            }
        }
        if !pending.trim().is_empty() && !self.over {
            self.sql(&pending, Origin::Line(begun));
        }
    }

    /// Runs statements until one fails.
    fn sql(&mut self, sql: &str, origin: Origin) {
        let result = self.database.run(sql, |rows| {
            let text = output::rows(&self.style, rows)?;
            match &self.redirect {
                Some(_) => self.redirected.extend(text),
                None => self.answer.stdout.extend(text),
            }
            Ok(())
        });
        if let Err(failure) = result {
            let message = match (origin, failure.preparing) {
                (Origin::Argument, true) => format!("Error: in prepare, {}", failure.message),
                (Origin::Argument, false) => {
                    format!("Error: stepping, {} ({})", failure.message, failure.code)
                }
                (Origin::Line(line), true) => format!("Parse error near line {line}: {}", failure.message),
                (Origin::Line(line), false) => {
                    format!("Runtime error near line {line}: {} ({})", failure.message, failure.code)
                }
            };
            let exit = match origin {
                Origin::Argument => (failure.code & 0xff) as u8,
                _ => 1,
            };
            self.failed(exit.max(1), &message);
        }
        self.end_of_command();
    }

    fn failed(&mut self, exit: u8, message: &str) {
        self.answer.complain(exit, message);
        self.over |= self.bail;
    }

    fn print(&mut self, text: &str) {
        match &self.redirect {
            Some(_) => self.redirected.extend_from_slice(text.as_bytes()),
            None => self.answer.stdout.extend_from_slice(text.as_bytes()),
        }
    }

    /// `.once` holds for one command.
    fn end_of_command(&mut self) {
        if matches!(&self.redirect, Some((_, true))) && !self.redirected.is_empty() {
            self.end_redirect();
        }
    }

    fn end_redirect(&mut self) {
        if let Some((path, _)) = self.redirect.take() {
            let data = std::mem::take(&mut self.redirected);
            if let Err(errno) = self.call.files.write(&self.call.path(&path), &data) {
                self.failed(1, &format!("Error: cannot write \"{path}\": {errno}"));
            }
        }
    }

    fn finish(mut self) -> Answer {
        self.end_redirect();
        if let Err(message) = self.database.save(self.call) {
            self.answer.complain(1, format!("Error: {message}"));
        }
        self.answer
    }
}
