//! `Idempotency-Key`: for each key of a sandbox, a write exec has its effect once.
//!
//! The reply is kept under its key in the transaction of the effect itself. Whoever comes
//! with a key asks for its reply after it was granted the sandbox, and again before each
//! further run. A commit that this question did not see makes a new head, so the next
//! compare-and-set loses; that the key is taken makes it lose, too. So no order of two
//! execs of one key applies both, with a lease or without.
//!
//! Errors are not kept: they left no trace, and the same key may be sent again.

use serde::{Deserialize, Serialize};

use crate::exec::{Captured, Output, Stream};
use crate::ids::Sha256;
use crate::session::entry::{Session, store_error};
use crate::session::run::Finished;
use crate::session::types::{ExecReply, ExecRequest, Expect};
use crate::session::{Inner, SessionError};
use crate::store::Kept;

/// Output that is kept, bytes a stream.
pub(crate) const KEPT_OUTPUT: usize = 1 << 20;

/// The first line of a kept reply; stdout and stderr follow as they are.
#[derive(Debug, Serialize, Deserialize)]
struct Head {
    exit_code: i32,
    duration_ms: u64,
    committed: bool,
    changed: u64,
    warnings: Vec<String>,
    stdout: usize,
    stdout_truncated: bool,
    stderr_truncated: bool,
}

impl Inner {
    /// The reply that the request's key has, if it has one.
    pub(crate) async fn replay(
        &self,
        session: &Session,
        request: &ExecRequest,
    ) -> Result<Option<ExecReply>, SessionError> {
        let Some(key) = &request.key else { return Ok(None) };
        let kept = session.store.kept_reply(session.sandbox, key).await.map_err(store_error)?;
        let Some(kept) = kept else { return Ok(None) };
        if kept.request != fingerprint(request) {
            return Err(SessionError::KeyReused);
        }
        read(&kept).map(Some).ok_or_else(|| SessionError::Internal("a kept reply cannot be read".into()))
    }
}

/// What a finished script that is to be committed is answered with, as it is kept.
pub(crate) fn to_keep(finished: &Finished, output: &Output) -> Vec<u8> {
    let kept = output.beginning(KEPT_OUTPUT);
    let changes = &finished.ended.changes;
    let head = Head {
        exit_code: finished.exit_code,
        duration_ms: finished.ended.duration.as_millis() as u64,
        committed: !changes.delta.is_empty(),
        changed: changes.changed,
        warnings: finished.ended.warnings.clone(),
        stdout: kept.stdout.len(),
        stdout_truncated: kept.stdout_truncated,
        stderr_truncated: kept.stderr_truncated,
    };
    let mut reply = serde_json::to_vec(&head).expect("a struct with text keys is JSON");
    reply.push(b'\n');
    reply.extend_from_slice(&kept.stdout);
    reply.extend_from_slice(&kept.stderr);
    reply
}

fn read(kept: &Kept) -> Option<ExecReply> {
    let line = kept.reply.iter().position(|b| *b == b'\n')?;
    let head: Head = serde_json::from_slice(&kept.reply[..line]).ok()?;
    let (stdout, stderr) = kept.reply[line + 1..].split_at_checked(head.stdout)?;
    Some(ExecReply {
        output: Captured {
            stdout: stdout.to_vec(),
            stderr: stderr.to_vec(),
            stdout_truncated: head.stdout_truncated,
            stderr_truncated: head.stderr_truncated,
        },
        exit_code: head.exit_code,
        duration: std::time::Duration::from_millis(head.duration_ms),
        version: kept.version,
        head: kept.head,
        committed: head.committed,
        changed: head.changed,
        changes: None,
        warnings: head.warnings,
        replayed: true,
    })
}

/// Sends a kept reply's output to a live reader.
pub(crate) async fn play(reply: ExecReply, output: &Output) -> ExecReply {
    if output.is_live() {
        output.write(Stream::Stdout, &reply.output.stdout).await;
        output.write(Stream::Stderr, &reply.output.stderr).await;
    }
    reply
}

/// What was asked for. What is left at its default adds nothing, so that a field which a
/// later version brings changes nothing for requests without it.
pub(crate) fn fingerprint(request: &ExecRequest) -> Sha256 {
    let mut all = Vec::new();
    let mut add = |name: &str, value: &[u8]| {
        for part in [name.as_bytes(), value] {
            all.extend_from_slice(&(part.len() as u64).to_le_bytes());
            all.extend_from_slice(part);
        }
    };
    add("script", request.script.as_bytes());
    add("timeout", &(request.timeout.as_millis() as u64).to_le_bytes());
    if let Some(cwd) = &request.cwd {
        add("cwd", cwd.as_bytes());
    }
    for (name, value) in &request.env {
        add("env", name.as_bytes());
        add("value", value.as_bytes());
    }
    if let Some(stdin) = &request.stdin {
        add("stdin", stdin);
    }
    for arg in &request.args {
        add("arg", arg.as_bytes());
    }
    match request.expect {
        None => {}
        Some(Expect::Version(version)) => add("version", &version.to_le_bytes()),
        Some(Expect::Head(head)) => add("head", head.0.as_bytes()),
    }
    let flags =
        [("rollback", request.rollback_on_error), ("dryRun", request.dry_run), ("debug", request.debug)];
    for (name, _) in flags.into_iter().filter(|(_, set)| *set) {
        add(name, &[]);
    }
    Sha256::of(&all)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::session::ExecMode;
    use std::collections::{BTreeMap, BTreeSet};
    use std::time::Duration;

    #[test]
    fn requests_that_differ_have_other_fingerprints() {
        let plain = ExecRequest {
            script: "ab".into(),
            cwd: None,
            env: BTreeMap::new(),
            stdin: None,
            args: Vec::new(),
            timeout: Duration::from_secs(1),
            mode: ExecMode::Write,
            rollback_on_error: false,
            dry_run: false,
            expect: None,
            debug: false,
            key: Some("k".into()),
        };
        let of = |change: &dyn Fn(&mut ExecRequest)| {
            let mut request = plain.clone();
            change(&mut request);
            fingerprint(&request)
        };
        let all: Vec<Sha256> = vec![
            of(&|_| {}),
            of(&|it| it.script = "a".into()),
            of(&|it| it.cwd = Some("/".into())),
            of(&|it| it.env = BTreeMap::from([("A".into(), "b".into())])),
            of(&|it| it.env = BTreeMap::from([("A".into(), String::new()), ("b".into(), String::new())])),
            of(&|it| it.stdin = Some(Vec::new())),
            of(&|it| it.args = vec!["a".into(), "b".into()]),
            of(&|it| it.args = vec!["ab".into()]),
            of(&|it| it.timeout = Duration::from_secs(2)),
            of(&|it| it.rollback_on_error = true),
            of(&|it| it.dry_run = true),
            of(&|it| it.debug = true),
            of(&|it| it.expect = Some(Expect::Version(1))),
        ];
        assert_eq!(all.iter().collect::<BTreeSet<_>>().len(), all.len());
        assert_eq!(of(&|it| it.key = Some("other".into())), all[0]);
    }

    #[test]
    fn what_cannot_be_read_is_no_reply() {
        let kept = |reply: &[u8]| Kept {
            request: Sha256::of(b""),
            version: 1,
            head: crate::ids::Head::random(),
            reply: reply.to_vec(),
        };
        for broken in [&b""[..], b"\n", b"{}\nab", b"{\"exit_code\":0"] {
            assert!(read(&kept(broken)).is_none(), "{broken:?}");
        }
    }
}
