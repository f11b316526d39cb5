//! `sed`, as of GNU sed 4.9 in a UTF-8 locale, on bytes. Left out: `e` and the flag `e`, which
//! run programs, and `--debug`; all are refused. `-u` changes nothing: all input is there.

use self::input::Inputs;
use self::machine::{Machine, Manner};
use self::output::{InPlace, Outputs};
use self::parse::{Dialect, parse};
use self::reader::Origin;
use super::input::Input;
use super::options::{self, Given, HELP, Spec, Takes, VERSION};
use super::{Answer, Call};
use crate::fs::Errno;

mod escapes;
mod failed;
mod input;
mod list;
mod machine;
mod output;
mod parse;
mod ranges;
mod reader;
mod reads;
mod script;
mod substitute;
mod substitution;
mod text;

const DEBUG: char = '\u{3}';
const FOLLOW: char = '\u{4}';
const POSIX: char = '\u{5}';
const SANDBOX: char = '\u{6}';

const SPECS: &[Spec] = &[
    ('n', "quiet", Takes::Nothing),
    ('n', "silent", Takes::Nothing),
    (DEBUG, "debug", Takes::Nothing),
    ('e', "expression", Takes::Argument),
    ('f', "file", Takes::Argument),
    (FOLLOW, "follow-symlinks", Takes::Nothing),
    ('i', "in-place", Takes::Optional),
    ('l', "line-length", Takes::Argument),
    (POSIX, "posix", Takes::Nothing),
    ('E', "regexp-extended", Takes::Nothing),
    ('r', "regexp-extended", Takes::Nothing),
    (SANDBOX, "sandbox", Takes::Nothing),
    ('s', "separate", Takes::Nothing),
    ('u', "unbuffered", Takes::Nothing),
    ('z', "null-data", Takes::Nothing),
    ('z', "zero-terminated", Takes::Nothing),
    (HELP, "help", Takes::Nothing),
    (VERSION, "version", Takes::Nothing),
];

const USAGE: &str = "\
Usage: sed [OPTION]... {script-only-if-no-other-script} [input-file]...
Edit lines of files or standard input. The first operand is the script, unless -e or -f gives it.

  -n, --quiet, --silent      print no line that the script does not print
  -e, --expression=SCRIPT    take commands from SCRIPT
  -f, --file=FILE            take commands from FILE
  -E, -r, --regexp-extended  patterns are extended regular expressions
  -i, --in-place[=SUFFIX]    change the files; with SUFFIX keep the old ones
      --follow-symlinks      with -i change what a link leads to
  -l, --line-length=N        width of the lines of command l
  -s, --separate             each file has lines of its own
  -z, --null-data            lines end with NUL
      --posix                without some of GNU's additions
      --sandbox              refuse commands that name files
  -u, --unbuffered           no effect: all input is there
      --help                 print this
      --version              print the version
";
const TOLD: &str = "sed (sqlfs), as GNU sed 4.9\n";

/// Runs it.
pub(super) fn run(call: &Call<'_>) -> Answer {
    let mut answer = Answer::default();
    let given = match options::parse(call.args, SPECS) {
        Ok(given) => given,
        Err(message) => {
            answer.complain(1, format!("sed: {message}\n{}", USAGE.trim_end()));
            return answer;
        }
    };
    if given.has(HELP) || given.has(VERSION) {
        let text = if given.has(HELP) { USAGE } else { TOLD };
        answer.stdout.extend_from_slice(text.as_bytes());
    } else if given.has(DEBUG) {
        answer.complain(1, "sed: option '--debug' is not supported");
    } else {
        edit(call, &given, &mut answer);
    }
    answer
}

/// The pieces of the script, and the operands that are left.
fn pieces<'a>(call: &Call<'_>, given: &Given<'a>) -> Result<(Vec<(Origin, Vec<u8>)>, Vec<&'a str>), String> {
    let mut names = given.operands.clone();
    let mut pieces = Vec::new();
    let mut expressions = 0;
    for (letter, value) in &given.options {
        let value = value.unwrap_or_default();
        if *letter == 'e' {
            expressions += 1;
            pieces.push((Origin::Expression(expressions), value.as_bytes().to_vec()));
        } else if *letter == 'f' {
            let data = match super::input::input(call, value) {
                // A directory can be opened, and has nothing.
                Err(Errno::EISDIR) => Input::Borrowed(&[]),
                data => data.map_err(|errno| format!("couldn't open file {value}: {errno}"))?,
            };
            // What ends the last line begins no further one.
            let text = data.strip_suffix(b"\n").unwrap_or(&data);
            pieces.push((Origin::File(value.to_owned()), text.to_vec()));
        }
    }
    if pieces.is_empty() && !names.is_empty() {
        pieces.push((Origin::Expression(1), names.remove(0).as_bytes().to_vec()));
    }
    Ok((pieces, names))
}

fn edit(call: &Call<'_>, given: &Given<'_>, answer: &mut Answer) {
    let (pieces, mut names) = match pieces(call, given) {
        Ok(found) => found,
        Err(message) => return answer.complain(4, format!("sed: {message}")),
    };
    if pieces.is_empty() {
        return answer.complain(1, USAGE.trim_end());
    }
    let end = if given.has('z') { b'\0' } else { b'\n' };
    let posix = given.has(POSIX);
    let extended = given.has('E') || given.has('r');
    let script = match parse(&pieces, Dialect { extended, posix, sandbox: given.has(SANDBOX), end }) {
        Ok(script) => script,
        Err(message) => return answer.complain(1, format!("sed: {message}")),
    };
    let in_place = given.has('i').then(|| InPlace {
        suffix: given.value('i').filter(|suffix| !suffix.is_empty()),
        follow: given.has(FOLLOW),
    });
    if names.is_empty() {
        if in_place.is_some() {
            return answer.complain(4, "sed: no input files");
        }
        names.push("-");
    }
    let separate = given.has('s') || in_place.is_some();
    let manner = Manner {
        quiet: given.has('n') || script.quiet,
        posix,
        in_place,
        width: given.value('l').map_or(70, |width| width.trim().parse().unwrap_or(0)),
        end,
    };
    let outputs = match Outputs::open(call, &script.outputs, end) {
        Ok(outputs) => outputs,
        Err(failed) => return answer.complain(failed.exit, format!("sed: {}", failed.message)),
    };
    let inputs = Inputs::new(call, names, manner.in_place.is_some(), separate, end);
    let mut machine = Machine::new(call, &script, manner, inputs, outputs);
    let ended = machine.run();
    let Machine { inputs, mut outputs, .. } = machine;
    for complaint in &inputs.complaints {
        answer.complain(2, format!("sed: {complaint}"));
    }
    match ended {
        Ok(0) => {}
        Ok(exit) => answer.exit = exit,
        Err(failed) => {
            // What was written before it failed stays.
            let _ = outputs.flush();
            answer.complain(failed.exit, format!("sed: {}", failed.message));
            answer.exit = failed.exit;
        }
    }
    outputs.into_answer(answer);
}
