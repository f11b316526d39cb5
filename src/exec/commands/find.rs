//! `find`, as of GNU findutils 4.9. It walks the tree itself; names come sorted by bytes. Left
//! out: `-D`, `-fstype`, `-used`, times of access and of birth (each time is that of the last
//! change).
//!
//! A search whose expression runs commands stops for each and goes on behind it, so that a
//! command's exit decides what follows and what it changed is seen ([`Run`]). Who can run
//! commands drives it (`exec/bash/commands/find.rs`).

use super::{Answer, Call};

mod act;
mod amounts;
mod asks;
mod format;
mod moments;
mod program;
mod read;
mod regular;
mod run;
mod tests;

pub(crate) use run::Run;

const USAGE: &str = "\
Usage: find [-H] [-L] [-P] [-Olevel] [path...] [expression]

Default path is the current directory; default expression is -print.
Expression may consist of: operators, options, tests, and actions.

Operators (decreasing precedence; -and is implicit where no others are given):
      ( EXPR )   ! EXPR   -not EXPR   EXPR1 -a EXPR2   EXPR1 -and EXPR2
      EXPR1 -o EXPR2   EXPR1 -or EXPR2   EXPR1 , EXPR2

Options: -daystart -depth -files0-from FILE -follow -maxdepth LEVELS
      -mindepth LEVELS -mount -noleaf -nowarn -regextype TYPE -warn -xdev

Tests (N can be +N or -N or N):
      -amin N -anewer FILE -atime N -cmin N -cnewer FILE -ctime N -empty
      -executable -false -gid N -group NAME -ilname PATTERN -iname PATTERN
      -inum N -ipath PATTERN -iregex PATTERN -iwholename PATTERN -links N
      -lname PATTERN -mmin N -mtime N -name PATTERN -newer FILE -newerXY REF
      -nogroup -nouser -path PATTERN -perm [-/]MODE -readable -regex PATTERN
      -samefile FILE -size N[bcwkMG] -true -type [bcdpflsD] -uid N -user NAME
      -wholename PATTERN -writable -xtype [bcdpflsD]

Actions:
      -delete -exec COMMAND ; -exec COMMAND {} + -execdir COMMAND ;
      -execdir COMMAND {} + -fls FILE -fprint FILE -fprint0 FILE
      -fprintf FILE FORMAT -ls -ok COMMAND ; -okdir COMMAND ; -print -print0
      -printf FORMAT -prune -quit
";

/// What a call asks for.
struct Asked {
    plan: super::walk::Plan,
    program: Vec<program::Step>,
    outs: run::Outs,
    execs: Vec<act::Exec>,
    warnings: Vec<String>,
    trouble: Vec<String>,
}

/// Runs it; no expression that runs commands comes here.
pub(crate) fn run(call: &Call<'_>) -> Answer {
    match start(call, false) {
        Ok(mut run) => {
            let command = run.resume(0);
            debug_assert!(command.is_none(), "nobody can run {command:?}");
            run.take()
        }
        Err(answer) => answer,
    }
}

/// Whether a call may run commands.
pub(crate) fn runs_commands(args: &[String]) -> bool {
    args.iter().any(|arg| matches!(arg.as_str(), "-exec" | "-execdir" | "-ok" | "-okdir"))
}

/// Where a call starts, as far as its words tell.
pub(crate) fn starts(args: &[String]) -> Vec<String> {
    read::starts(args)
}

/// A search that stops for its commands. `Err`: there is none.
pub(crate) fn start(call: &Call<'_>, with_commands: bool) -> Result<Run, Answer> {
    let asked = read::read(call).map_err(|refusal| refusal.answer("find", 1))?;
    if !with_commands && !asked.execs.is_empty() {
        let mut answer = Answer::default();
        answer.complain(1, "find: commands cannot be run here");
        return Err(answer);
    }
    Run::new(call.files, asked, call.stdin, call.now_ns).map_err(|errno| {
        let mut answer = Answer::default();
        answer.complain(1, format!("find: {errno}"));
        answer
    })
}
