//! One run of one script over one tree: from the request to the interpreter's job,
//! and from its end to what the session makes of it.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use tracing::Instrument;

use crate::exec::host::Permissions;
use crate::exec::{End, Ended, Job, Output};
use crate::fs::{ContentSource, Errno, Fatal, Mode, NodeBody};
use crate::metrics::metrics;
use crate::session::entry::Base;
use crate::session::guard::WriteGuard;
use crate::session::host::ScriptHost;
use crate::session::stop::Stop;
use crate::session::{Inner, Request, SessionError};
use crate::store::SandboxRow;
use crate::telemetry::span;

/// A script and the state that it runs on.
pub(crate) struct Run<'a> {
    pub(crate) script: &'a str,
    pub(crate) debug: bool,
    /// Where to start; `None`: the kept directory.
    pub(crate) cwd: Option<&'a str>,
    pub(crate) env: &'a BTreeMap<String, String>,
    pub(crate) args: &'a [String],
    pub(crate) stdin: Option<&'a [u8]>,
    pub(crate) timeout: Duration,
    pub(crate) mode: Mode,
    pub(crate) base: &'a Base,
    pub(crate) row: &'a SandboxRow,
    /// The right to write; `None` for a read exec.
    pub(crate) guard: Option<&'a WriteGuard>,
    pub(crate) content: Arc<dyn ContentSource>,
    pub(crate) output: &'a Arc<Output>,
}

/// A script that came to its own end.
pub(crate) struct Finished {
    pub(crate) exit_code: i32,
    pub(crate) ended: Ended,
}

impl Inner {
    /// Runs it. An error means that the script was cut off or never started: whatever
    /// it did is dropped.
    pub(crate) async fn run(&self, run: Run<'_>, of: &Request) -> Result<Finished, SessionError> {
        let stop = &of.stop;
        if let Some(cwd) = run.cwd {
            check_directory(run.base, cwd)?;
        }
        let mut env = run.row.env.clone();
        env.extend(run.env.iter().map(|(k, v)| (k.clone(), v.clone())));
        env.remove(FENCING_TOKEN);
        if let Some(token) = run.guard.and_then(WriteGuard::token) {
            env.insert(FENCING_TOKEN.into(), token.to_string());
        }
        let permissions = Permissions {
            python: run.row.python && self.settings.python.running > 0,
            javascript: run.row.javascript && self.settings.javascript.running > 0,
            network: run.row.network.is_some(),
        };
        let job = Job {
            caller: of.caller.clone(),
            sandbox: run.row.id,
            script: run.script.to_owned(),
            debug: run.debug,
            cwd: run.cwd.unwrap_or(&run.row.cwd).to_owned(),
            env,
            args: run.args.to_vec(),
            stdin: run.stdin.map(<[u8]>::to_vec),
            timeout: run.timeout,
            base: run.base.tree.clone(),
            next_ino: run.base.next_ino,
            mode: run.mode,
            quota: self.settings.quota,
            content: run.content,
            output: run.output.clone(),
            permissions,
            host: Arc::new(ScriptHost::new(
                of.caller.clone(),
                permissions,
                self.runtimes.clone(),
                self.network(run.row, of),
            )),
        };
        let running = match run.guard {
            Some(guard) => guard.start(stop)?,
            None => stop.start()?,
        };
        let ended = self.interpreter.run(job, running.control.clone()).instrument(span!("script")).await;
        drop(running);
        let mode = if run.guard.is_some() { "write" } else { "read" };
        metrics().scripts.note([("mode", mode)], ended.duration);
        let output = || Box::new(run.output.take());
        match &ended.end {
            End::Exited(code) => Ok(Finished { exit_code: *code, ended }),
            End::TimedOut => Err(SessionError::Timeout { duration: ended.duration, output: output() }),
            End::Cancelled => Err(stop.cause().map_or_else(
                || SessionError::Internal("a script was cancelled by nobody".into()),
                super::stop::Cause::error,
            )),
            End::Limit { name: "runtime_busy", message } => Err(SessionError::RuntimeBusy(message.clone())),
            End::Limit { name, message } => {
                Err(SessionError::Limit { name, message: message.clone(), output: output() })
            }
            End::Failed(text) => Err(SessionError::Internal(text.clone())),
            End::Fs(fatal) => Err(fatal_error(fatal, stop, output)),
        }
    }
}

/// Why the file system ended a run, in terms of the session.
pub(crate) fn fatal_error(
    fatal: &Fatal,
    stop: &Stop,
    output: impl FnOnce() -> Box<crate::exec::Captured>,
) -> SessionError {
    match fatal {
        Fatal::ReadOnly { path } => SessionError::ReadOnlyViolation { path: path.clone(), output: output() },
        Fatal::Entries { limit } => {
            SessionError::NoSpace { what: "entries", limit: *limit, output: output() }
        }
        Fatal::Bytes { limit } => SessionError::NoSpace { what: "bytes", limit: *limit, output: output() },
        Fatal::Memory { limit } => SessionError::Limit {
            name: "memory",
            message: format!("one script may hold {limit} bytes of new content (EXEC_MEMORY_BYTES)"),
            output: output(),
        },
        Fatal::ContentUnavailable => SessionError::StoreUnavailable,
        Fatal::Revoked => stop.cause().map_or(SessionError::StoreUnavailable, super::stop::Cause::error),
    }
}

/// A directory that the request itself names must be there.
fn check_directory(base: &Base, path: &str) -> Result<(), SessionError> {
    let fail = |errno| SessionError::Fs { errno, path: path.to_owned() };
    match base.tree.resolve(path, true) {
        Ok((_, node)) if matches!(node.body, NodeBody::Dir { .. }) => Ok(()),
        Ok(_) => Err(fail(Errno::ENOTDIR)),
        Err(errno) => Err(fail(errno)),
    }
}

/// The variable that carries the lease's token into a write exec.
const FENCING_TOKEN: &str = "SQLFS_FENCING_TOKEN";
