//! `tee`, as of GNU coreutils 9.1: the engine's own makes text of what passes. It writes
//! through the engine's view of files, which has `/dev/fd/63` of `>(…)`.

use std::fmt::Write as _;
use std::path::Path;

use bashkit::{BashBuilder, Builtin, BuiltinContext, ExecResult, Result, async_trait};

use super::engine::Stage;
use crate::exec::commands::{absolute, quoted};
use crate::fs::{Errno, Kind};

/// Gives the engine our command in place of its own.
pub(super) fn register(bash: BashBuilder, stage: &Stage) -> BashBuilder {
    bash.builtin("tee", Box::new(Tee { stage: stage.clone() }))
}

struct Tee {
    stage: Stage,
}

/// Whether to append, and the files.
fn arguments(args: &[String]) -> std::result::Result<(bool, Vec<&str>), String> {
    let (mut append, mut files, mut args) = (false, Vec::new(), args.iter().map(String::as_str));
    while let Some(arg) = args.next() {
        match arg {
            "--" => files.extend(args.by_ref()),
            "--append" => append = true,
            "--ignore-interrupts" => {}
            _ if arg.starts_with("--output-error") => {}
            _ if arg.starts_with("--") => return Err(format!("unrecognized option '{arg}'")),
            _ if arg.len() > 1 && arg.starts_with('-') => {
                for letter in arg[1..].chars() {
                    match letter {
                        'a' => append = true,
                        'i' | 'p' => {}
                        other => return Err(format!("invalid option -- '{other}'")),
                    }
                }
            }
            file => files.push(file),
        }
    }
    Ok((append, files))
}

#[async_trait]
impl Builtin for Tee {
    async fn execute(&self, ctx: BuiltinContext<'_>) -> Result<ExecResult> {
        let (append, files) = match arguments(ctx.args) {
            Ok(arguments) => arguments,
            Err(message) => {
                let line = format!("tee: {message}");
                self.stage.scene().seen.warn(line.clone());
                return Ok(ExecResult::err(format!("{line}\nTry 'tee --help' for more information.\n"), 1));
            }
        };
        let data = ctx.stdin.map_or(&[][..], |stdin| stdin.as_bytes());
        let (mut stderr, mut exit_code) = (String::new(), 0);
        for file in files {
            let path = absolute(ctx.cwd.to_str().unwrap_or("/"), file);
            let is_dir = self.stage.scene().files.stat(&path, true).is_ok_and(|stat| stat.kind == Kind::Dir);
            let path = Path::new(&path);
            let written = if is_dir {
                Err(Errno::EISDIR.to_string())
            } else if append {
                ctx.fs.append_file(path, data).await.map_err(|error| words(&error))
            } else {
                ctx.fs.write_file(path, data).await.map_err(|error| words(&error))
            };
            if let Err(words) = written {
                let _ = writeln!(stderr, "tee: {}: {words}", quoted(file));
                exit_code = 1;
            }
        }
        Ok(ExecResult {
            stdout: data.to_vec().into(),
            stderr: stderr.into(),
            exit_code,
            ..ExecResult::default()
        })
    }
}

/// Ours are the system's words; the engine puts its own before them.
fn words(error: &bashkit::Error) -> String {
    match error {
        bashkit::Error::Io(error) => error.to_string(),
        other => other.to_string(),
    }
}
