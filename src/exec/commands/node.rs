//! `node`: JavaScript on QuickJS, an interpreter, over the working copy. The modules that
//! Node has are JavaScript of our own (`node/*.js`); what they need from outside of the
//! language is in `node/sys.rs` and `node/files.rs`.
//!
//! One program is one engine, made for it and dropped with it. It runs on the calling
//! thread, on a stack of its own (`node/live.rs`).

use std::collections::BTreeMap;

use super::{Answer, Call};
use live::Running;
pub(crate) use live::Step;

mod bytes;
mod engine;
mod files;
mod live;
mod modules;
mod state;
mod sys;
mod text;
mod types;

/// The version of Node whose interfaces are meant, as far as they are there.
const VERSION: &str = "v20.20.2";

const USAGE: &str = "\
Usage: node [options] [script.js | -] [arguments]

  -                   program on standard input (so it is without a name, too)
  -e, --eval CODE     run CODE
  -p, --print CODE    run CODE and print its value
  -c, --check         only read the program
  --input-type=TYPE   module or commonjs: what CODE and standard input are;
                      with -typescript behind it they have types
  -v, --version       print the version of Node whose interfaces these are
  -h, --help          print this

This is QuickJS with Node's modules over the sandbox's files: no network, no processes,
no native addons. Types are taken out of .ts, .mts and .cts files; enums, namespaces,
parameter properties and .tsx are refused.
";

/// What is to be run.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Program {
    kind: Kind,
    /// A path, or code.
    text: String,
    args: Vec<String>,
    /// The value of the code is printed.
    print: bool,
    /// The code is an ES module, whatever it looks like.
    module: bool,
    /// The code has types.
    types: bool,
    /// Standard input was asked for by `-`.
    dash: bool,
    /// It is only read.
    check: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    File,
    Eval,
    Stdin,
}

impl Kind {
    fn name(self) -> &'static str {
        match self {
            Self::File => "file",
            Self::Eval => "eval",
            Self::Stdin => "stdin",
        }
    }
}

/// Makes it ready. `env`: the exported variables. `Err`: there is nothing to run.
pub(crate) fn start(call: &Call<'_>, env: &BTreeMap<String, String>) -> Result<Running, Answer> {
    engine::start(call, env, parse(call)?)
}

/// Options before the program's name are ours, those behind it the program's.
fn parse(call: &Call<'_>) -> Result<Program, Answer> {
    let mut program = Program {
        kind: Kind::Stdin,
        text: String::new(),
        args: Vec::new(),
        print: false,
        module: false,
        types: false,
        dash: false,
        check: false,
    };
    let mut args = call.args.iter();
    let mut code = None;
    let said = |text: &str| Answer { stdout: text.as_bytes().to_vec(), ..Answer::default() };
    while let Some(arg) = args.next() {
        let (name, value) = match arg.split_once('=') {
            Some((name, value)) if name.starts_with("--") => (name, Some(value.to_owned())),
            _ => (arg.as_str(), None),
        };
        match name {
            "-v" | "--version" => return Err(said(&format!("{VERSION}\n"))),
            "-h" | "--help" => return Err(said(USAGE)),
            "-e" | "--eval" | "-p" | "--print" | "-pe" => {
                let Some(text) = value.or_else(|| args.next().cloned()) else {
                    return Err(refused(&format!("{name} requires an argument")));
                };
                program.print |= name != "-e" && name != "--eval";
                code = Some(text);
            }
            "-c" | "--check" => program.check = true,
            "--input-type" => match value.or_else(|| args.next().cloned()).as_deref() {
                Some("module") => (program.module, program.types) = (true, false),
                Some("commonjs") => (program.module, program.types) = (false, false),
                Some("module-typescript") => (program.module, program.types) = (true, true),
                Some("commonjs-typescript") => (program.module, program.types) = (false, true),
                _ => {
                    let names = "\"module\", \"commonjs\", \"module-typescript\" or \"commonjs-typescript\"";
                    return Err(refused(&format!("--input-type must be {names}")));
                }
            },
            // What they ask for is so here, or means nothing here.
            "--no-warnings"
            | "--disable-warning"
            | "--experimental-strip-types"
            | "--strip-types"
            | "--trace-warnings"
            | "--enable-source-maps"
            | "--max-old-space-size"
            | "--stack-trace-limit"
            | "--unhandled-rejections"
            | "--trace-uncaught" => {}
            "-" if code.is_none() => {
                program.dash = true;
                program.args.extend(args.by_ref().cloned());
            }
            "--" if code.is_some() => program.args.extend(args.by_ref().cloned()),
            "--" => {
                if let Some(file) = args.next() {
                    (program.kind, program.text) = (Kind::File, file.clone());
                }
                program.args.extend(args.by_ref().cloned());
            }
            _ if name.starts_with('-') && name.len() > 1 => {
                return Err(refused(&format!("bad option: {arg}")));
            }
            _ if code.is_some() => {
                program.args.push(arg.clone());
                program.args.extend(args.by_ref().cloned());
            }
            _ => {
                (program.kind, program.text) = (Kind::File, arg.clone());
                program.args.extend(args.by_ref().cloned());
            }
        }
    }
    if let Some(code) = code {
        (program.kind, program.text) = (Kind::Eval, code);
    } else if program.kind == Kind::Stdin {
        program.text = String::from_utf8_lossy(call.stdin).into_owned();
    }
    Ok(program)
}

fn refused(message: &str) -> Answer {
    let mut answer = Answer::default();
    answer.complain(9, format!("node: {message}"));
    answer
}
