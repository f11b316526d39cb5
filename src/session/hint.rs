//! Version hints (`VERSION_CHECK=redis`): what the lease store says of the newest state
//! saves the read of the row, if it names the very state that is warm here.
//!
//! A hint names more than the head: the kept directory and the environment change
//! without a new head. It is a digest of all that a script sees of the row, so a row that
//! was kept in memory is right to use if its digest is the hint's, whoever made that row
//! and whenever.
//!
//! Who changes the row holds the lease: then the hint is pending, and set to the new state
//! at the end. Two do not: `patch`, and a forced deletion. These void the hint first, for
//! longer than their statement can take, and are refused if that fails.

use crate::ids::{Caller, Sha256};
use crate::lease::verbs::{Hint, Ms};
use crate::session::entry::Session;
use crate::session::{Inner, SessionError};
use crate::store::SandboxRow;

/// Longer than any statement on a sandbox's row is waited for.
const STATEMENT: Ms = 120_000;
/// Longer than a commit whose outcome is not known can still be on its way.
const STRAY_COMMIT: Ms = 600_000;

/// The state that a row describes.
pub(crate) fn hint_of(row: &SandboxRow) -> Hint {
    let mut text = Vec::with_capacity(256);
    text.extend_from_slice(row.head.0.as_bytes());
    text.extend([row.python, row.javascript, row.network.is_some()].map(u8::from));
    let env = row.env.iter().flat_map(|(name, value)| [name, value]);
    let env = row.network.iter().chain(env);
    for part in std::iter::once(&row.cwd).chain(env) {
        text.extend_from_slice(&(part.len() as u64).to_le_bytes());
        text.extend_from_slice(part.as_bytes());
    }
    let mut first = [0; 16];
    first.copy_from_slice(&Sha256::of(&text).0[..16]);
    Hint(u128::from_be_bytes(first))
}

impl Inner {
    /// What a reader may know of the newest state without the store. Nothing is asked for
    /// if it could not help: nothing warm, or a writer of this replica has the hint.
    pub(crate) async fn reader_hint(&self, session: &Session) -> Option<Hint> {
        if !self.coordination.uses_hints() || session.warm().is_none() || session.writer().is_some() {
            return None;
        }
        self.coordination.hint(session).await
    }

    /// Before a change of the caller's row by who has no lease.
    pub(crate) async fn void_hint(&self, session: &Session, caller: &Caller) -> Result<(), SessionError> {
        if !self.coordination.uses_hints() {
            return Ok(());
        }
        // A stranger voids nothing.
        session.row(caller).await?;
        if self.coordination.void(session, STATEMENT).await {
            Ok(())
        } else {
            Err(SessionError::CoordinationUnavailable)
        }
    }

    /// After a commit whose outcome stays open: it may land when others have long gone on.
    pub(crate) async fn void_stray(&self, session: &Session) {
        if !self.coordination.void(session, STRAY_COMMIT).await {
            tracing::warn!(sandbox.id = %session.sandbox, "a version hint may be old: it could not be dropped");
        }
    }

    /// After a commit under a lease that had ended: another may have given a hint since.
    pub(crate) async fn void_lapsed(&self, session: &Session) {
        if !self.coordination.void(session, 0).await {
            tracing::warn!(sandbox.id = %session.sandbox, "a version hint may be old: it could not be dropped");
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::ids::{Head, Owner, SandboxId};

    fn row(head: Head, cwd: &str, env: &[(&str, &str)]) -> SandboxRow {
        SandboxRow {
            id: SandboxId::random(),
            owner: Owner("o".into()),
            name: None,
            unique: false,
            version: 1,
            head,
            fence: 1,
            history_from: 0,
            next_ino: 2,
            entries: 1,
            bytes: 0,
            cwd: cwd.into(),
            env: env.iter().map(|(k, v)| ((*k).into(), (*v).into())).collect::<BTreeMap<_, _>>(),
            python: false,
            javascript: false,
            network: None,
            created_at_ns: 0,
            last_used_at_ns: 0,
        }
    }

    #[test]
    fn a_hint_names_all_that_a_script_sees_of_the_row() {
        let head = Head::random();
        let hints = [
            row(head, "/a", &[]),
            row(head, "/b", &[]),
            row(Head::random(), "/a", &[]),
            row(head, "/a", &[("x", "y")]),
            row(head, "/a", &[("xy", "")]),
            row(head, "/a", &[("x", "z")]),
            row(head, "/ax", &[("", "y")]),
        ]
        .map(|row| hint_of(&row));
        for (at, hint) in hints.iter().enumerate() {
            assert_eq!(hints.iter().position(|other| other == hint), Some(at), "{at}");
        }
        let again = SandboxRow { last_used_at_ns: 9, ..row(head, "/a", &[]) };
        assert_eq!(hint_of(&again), hints[0]);
    }
}
