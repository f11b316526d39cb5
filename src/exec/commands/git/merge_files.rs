//! Merges of two states that began at a third. What both sides changed in the same lines is
//! not resolved: it is told, and nothing comes of the merge.

use std::collections::BTreeSet;

use super::blobs::is_binary;
use super::failed::Done;
use super::object::{FILE, Kind, PROGRAM};
use super::repo::Repo;
use super::trees::{Flat, Side};
use crate::exec::commands::diff::lines::{Change, Lines, changes_of_git};

/// What came of it.
pub(super) struct Merged {
    pub(super) files: Flat,
    /// Files whose lines were merged.
    pub(super) mixed: Vec<String>,
    /// Path, and what stands in the way.
    pub(super) conflicts: Vec<(String, &'static str)>,
}

/// Merges file by file. Files that were moved are not followed.
pub(super) fn merge(repo: &Repo<'_>, base: &Flat, ours: &Flat, theirs: &Flat) -> Done<Merged> {
    let mut merged = Merged { files: Flat::new(), mixed: Vec::new(), conflicts: Vec::new() };
    let paths: BTreeSet<&String> = base.keys().chain(ours.keys()).chain(theirs.keys()).collect();
    for path in paths {
        let [b, o, t]: [Side; 3] = [base, ours, theirs].map(|flat| flat.get(path).copied());
        let side = if o == t || b == t {
            o
        } else if b == o {
            t
        } else {
            match mixed(repo, b, o, t)? {
                Ok(side) => {
                    merged.mixed.push(path.clone());
                    side
                }
                Err(why) => {
                    merged.conflicts.push((path.clone(), why));
                    o
                }
            }
        };
        if let Some(side) = side {
            merged.files.insert(path.clone(), side);
        }
    }
    let names: Vec<&String> = merged.files.keys().collect();
    for path in names {
        for (end, _) in path.match_indices('/') {
            if merged.files.contains_key(&path[..end]) {
                merged.conflicts.push((path[..end].to_owned(), "file/directory"));
            }
        }
    }
    Ok(merged)
}

fn mixed(repo: &Repo<'_>, base: Side, ours: Side, theirs: Side) -> Done<Result<Side, &'static str>> {
    repo.go_on()?;
    let (Some((our_mode, our_oid)), Some((their_mode, their_oid))) = (ours, theirs) else {
        return Ok(Err("modify/delete"));
    };
    let Some((base_mode, base_oid)) = base else { return Ok(Err("add/add")) };
    let regular = |mode: u32| mode == FILE || mode == PROGRAM;
    if ![base_mode, our_mode, their_mode].into_iter().all(regular) {
        return Ok(Err("content"));
    }
    let mode = if our_mode == base_mode { their_mode } else { our_mode };
    if our_oid == their_oid || base_oid == their_oid {
        return Ok(Ok(Some((mode, our_oid))));
    }
    if base_oid == our_oid {
        return Ok(Ok(Some((mode, their_oid))));
    }
    let (base, ours, theirs) = (repo.blob(&base_oid)?, repo.blob(&our_oid)?, repo.blob(&their_oid)?);
    if [&base, &ours, &theirs].into_iter().any(|data| is_binary(data)) {
        return Ok(Err("content"));
    }
    match lines(&base, &ours, &theirs) {
        Some(data) => Ok(Ok(Some((mode, repo.write(Kind::Blob, &data)?)))),
        None => Ok(Err("content")),
    }
}

/// Both sides' changes; `None` where they touch.
fn lines(base: &[u8], ours: &[u8], theirs: &[u8]) -> Option<Vec<u8>> {
    let [base, ours, theirs] = [base, ours, theirs].map(Lines::of);
    let (left, right) = (changes_of_git(&base, &ours), changes_of_git(&base, &theirs));
    let text = |side: &Lines<'_>, change: &Change| -> Vec<u8> {
        let mut out = Vec::new();
        change.new.clone().for_each(|at| push(&mut out, side, at));
        out
    };
    let (mut out, mut at) = (Vec::new(), 0);
    let (mut left, mut right) = (left.iter().peekable(), right.iter().peekable());
    loop {
        let (next, new) = match (left.peek(), right.peek()) {
            (None, None) => break,
            (Some(a), Some(b)) if a.old == b.old && text(&ours, a) == text(&theirs, b) => {
                right.next();
                (*a, text(&ours, a))
            }
            (Some(a), Some(b)) if a.old.end >= b.old.start && b.old.end >= a.old.start => return None,
            (Some(a), Some(b)) if a.old.start > b.old.start => {
                let next = *b;
                (next, text(&theirs, next))
            }
            (Some(a), _) => (*a, text(&ours, a)),
            (None, Some(b)) => (*b, text(&theirs, b)),
        };
        if left.peek().is_some_and(|change| std::ptr::eq(*change, next)) {
            left.next();
        } else {
            right.next();
        }
        (at..next.old.start).for_each(|line| push(&mut out, &base, line));
        out.extend(new);
        at = next.old.end;
    }
    (at..base.all.len()).for_each(|line| push(&mut out, &base, line));
    Some(out)
}

fn push(out: &mut Vec<u8>, side: &Lines<'_>, at: usize) {
    out.extend_from_slice(side.all[at]);
    if !side.is_incomplete(at) {
        out.push(b'\n');
    }
}

#[cfg(test)]
mod tests {
    use super::lines;

    #[test]
    fn changes_that_do_not_touch_are_merged() {
        let base = b"1\n2\n3\n4\n5\n";
        let merged = |ours: &[u8], theirs: &[u8]| {
            lines(base, ours, theirs).map(|data| String::from_utf8(data).unwrap())
        };
        assert_eq!(merged(b"a\n2\n3\n4\n5\n", b"1\n2\n3\n4\nb").as_deref(), Some("a\n2\n3\n4\nb"));
        assert_eq!(merged(b"1\n2\n3\n4\n", b"0\n1\n2\n3\n4\n5\n").as_deref(), Some("0\n1\n2\n3\n4\n"));
        assert_eq!(merged(b"1\nx\n3\n4\n5\n", b"1\nx\n3\n4\ny\n").as_deref(), Some("1\nx\n3\n4\ny\n"));
        assert_eq!(merged(b"1\nx\n3\n4\n5\n", b"1\ny\n3\n4\n5\n"), None);
        assert_eq!(merged(b"1\nx\n3\n4\n5\n", b"1\n2\ny\n4\n5\n"), None, "neighbours");
        assert_eq!(merged(b"1\n2\n3\n4\n5\nx\n", b"1\n2\n3\n4\n5\ny\n"), None);
    }
}
