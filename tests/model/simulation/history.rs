//! Checks of what clients saw against what is there in the end. Every write has its line
//! in the log, so the log tells the order, and the whole state of each version.

use std::collections::{BTreeMap, BTreeSet};

use sqlfs::fs::change_set::DirentRow;
use sqlfs::fs::{NodeBody, Tree};
use sqlfs::ids::{SandboxId, Sha256};
use sqlfs::lease::verbs::Ms;

use super::clients::{Deletion, Outcome, Record};
use super::scripts::{ACCOUNTS, Act, BALANCE, COUNTER, LOG};
use super::world::{Run, World, lock, owner};

/// What a sandbox holds, as `Act::Read` prints it.
#[derive(Clone, Debug, PartialEq, Eq)]
struct State {
    ids: Vec<u32>,
    counter: i64,
    balances: Vec<i64>,
}

impl State {
    fn parse(text: &str) -> Option<Self> {
        let mut words = text.split(' ');
        let ids = words.next()?.split_terminator(',').map(|id| id.parse().ok()).collect::<Option<_>>()?;
        let counter = words.next()?.parse().ok()?;
        let balances = words.map(|word| word.parse().ok()).collect::<Option<_>>()?;
        Some(Self { ids, counter, balances })
    }

    /// What the scripts of these ids make, one after the other.
    fn made_by(ids: &[u32], acts: &BTreeMap<u32, Act>) -> Self {
        let mut state = Self { ids: ids.to_vec(), counter: 0, balances: vec![BALANCE; ACCOUNTS.len()] };
        for id in ids {
            match acts.get(id) {
                Some(Act::Count) => state.counter += 1,
                Some(Act::Transfer { from, to, amount }) => {
                    state.balances[*from] -= amount;
                    state.balances[*to] += amount;
                }
                Some(Act::Append | Act::Fail | Act::Read) | None => {}
            }
        }
        state
    }
}

/// The state that the store holds in the end, also of a sandbox that was deleted.
fn stored(world: &World, id: SandboxId) -> State {
    let tables = world.store.tables();
    let sandbox = &tables.sandboxes[&id];
    let inodes = sandbox.inodes.values().filter(|row| row.ended.is_none()).map(|row| row.it.clone());
    let names = sandbox.names.iter().filter(|(_, row)| row.ended.is_none());
    let dirents =
        names.map(|((parent, name, _), row)| DirentRow { parent: *parent, name: name.clone(), ino: row.it });
    let (inodes, dirents) = (inodes.collect(), dirents.collect());
    let tree = Tree::from_rows(inodes, dirents).expect("a tree");
    let mut texts = Vec::new();
    for path in [LOG, COUNTER].iter().chain(&ACCOUNTS) {
        let (_, node) = tree.resolve(path, true).expect("the file is there");
        let NodeBody::File { sha256: Some(hash), .. } = node.body else { panic!("{path} is empty") };
        texts.push(String::from_utf8_lossy(&tables.blobs[&hash]).trim().replace('\n', ","));
    }
    State::parse(&texts.join(" ")).expect("a state")
}

/// Checks the history of one sandbox; `Err` says what is wrong.
pub fn check(world: &World, index: usize, history: &[Record], deletions: &[Deletion]) -> Result<(), String> {
    let id = lock(&world.sandboxes)[index];
    let last = stored(world, id);
    let own: Vec<&Record> = history.iter().filter(|it| it.script.sandbox == index).collect();
    let acts: BTreeMap<u32, Act> = own.iter().map(|it| (it.script.id, it.script.act)).collect();
    let places: BTreeMap<u32, usize> = last.ids.iter().zip(0..).map(|(id, at)| (*id, at)).collect();
    if places.len() != last.ids.len() {
        return Err(format!("G1: an id is there twice: {:?}", last.ids));
    }
    if last != State::made_by(&last.ids, &acts) {
        return Err(format!("G1, G2: {last:?} is not what its scripts make"));
    }
    let mut versions = BTreeMap::new();
    for it in &own {
        let there = places.get(&it.script.id);
        match (&it.outcome, there) {
            (Outcome::Done { committed: true, version, .. }, Some(at)) => {
                if versions.insert(*version, (*at, it.script.id)).is_some() {
                    return Err(format!("G2: version {version} was told twice"));
                }
            }
            (Outcome::Done { committed: true, .. }, None) => {
                return Err(format!("G5: {} was acknowledged and is not there", it.script.id));
            }
            (Outcome::Done { .. } | Outcome::Refused(_), Some(_)) => {
                return Err(format!("G5: {it:?} is there"));
            }
            (Outcome::Unknown | Outcome::NoReply, _) if it.script.act == Act::Fail && there.is_some() => {
                return Err(format!("G1: {} failed and is there", it.script.id));
            }
            (Outcome::Done { .. } | Outcome::Refused(_), None) | (Outcome::Unknown | Outcome::NoReply, _) => {
            }
        }
    }
    if !versions.values().is_sorted() {
        return Err(format!("G2: the order of versions is not that of effects: {versions:?}"));
    }
    check_log(world, id, &own, &places)?;
    if world.plan.is_quiet() {
        check_quiet(&own)?;
    }
    check_deletion(world, id, &own, deletions.iter().find(|it| it.sandbox == index))?;
    check_outputs(&own, &last, &acts, &versions)?;
    check_real_time(&own)
}

/// The exec log knows each version, who made it, and with which script.
fn check_log(
    world: &World,
    id: SandboxId,
    own: &[&Record],
    places: &BTreeMap<u32, usize>,
) -> Result<(), String> {
    let tables = world.store.tables();
    let sandbox = &tables.sandboxes[&id];
    let committed = sandbox.log.values().filter(|it| it.committed && it.request_id != "create");
    let logged: BTreeMap<&str, _> = committed.map(|it| (it.request_id.as_str(), it)).collect();
    if sandbox.log.len() as i64 != sandbox.row.version + 1 {
        return Err(format!("{} versions, {} in the log", sandbox.row.version + 1, sandbox.log.len()));
    }
    for it in own {
        let row = logged.get(it.script.id.to_string().as_str());
        if row.is_some() != places.contains_key(&it.script.id) {
            return Err(format!("the exec log and the files do not agree on {it:?}"));
        }
        if let Some(row) = row
            && (row.actor != *owner().0
                || row.script_sha256 != Some(Sha256::of(it.script.to_string().as_bytes()))
                || row.duration_ms < it.script.ms as i64
                || row.started_at_ns == 0)
        {
            return Err(format!("the exec log has {row:?} of {it:?}"));
        }
    }
    Ok(())
}

/// What was deleted is gone for whoever comes later; nothing else is ever gone.
fn check_deletion(
    world: &World,
    id: SandboxId,
    own: &[&Record],
    deletion: Option<&Deletion>,
) -> Result<(), String> {
    let gone = world.store.tables().sandboxes[&id].deleted_at_ns.is_some();
    if deletion.map_or(gone, |it| it.done && !gone) {
        return Err(format!("gone: {gone}, after {deletion:?}"));
    }
    for it in own {
        let served = matches!(it.outcome, Outcome::Done { .. });
        let after = deletion.is_some_and(|deletion| deletion.done && deletion.answered < it.sent);
        let before = deletion.is_none_or(|deletion| it.answered < deletion.sent);
        if served && after || before && matches!(it.outcome, Outcome::Refused("not found")) {
            return Err(format!("{it:?}, with {deletion:?}"));
        }
    }
    Ok(())
}

/// Without faults nothing is refused but what could never be done.
fn check_quiet(own: &[&Record]) -> Result<(), String> {
    for it in own {
        match it.outcome {
            Outcome::Done { .. } | Outcome::Refused("script timed out" | "write in a read exec") => {}
            Outcome::Refused(_) | Outcome::Unknown | Outcome::NoReply => {
                return Err(format!("without any fault: {it:?}"));
            }
        }
    }
    Ok(())
}

/// Each output is of the version that the reply names.
fn check_outputs(
    own: &[&Record],
    last: &State,
    acts: &BTreeMap<u32, Act>,
    versions: &BTreeMap<i64, (usize, u32)>,
) -> Result<(), String> {
    for it in own {
        let Outcome::Done { version, output, .. } = &it.outcome else { continue };
        match it.script.act {
            Act::Count => {
                let Some((at, _)) = versions.get(version) else { continue };
                let expected = State::made_by(&last.ids[..=*at], acts).counter;
                if *output != expected.to_string() {
                    return Err(format!("G2: {it:?} should have counted {expected}"));
                }
            }
            Act::Read => {
                let Some(seen) = State::parse(output) else { return Err(format!("{it:?} is no state")) };
                if !last.ids.starts_with(&seen.ids) || seen != State::made_by(&seen.ids, acts) {
                    return Err(format!("G1, G3: {it:?} saw what never was; in the end {:?}", last.ids));
                }
                let wrong = versions.iter().find(|(of, (at, _))| (*of <= version) != (*at < seen.ids.len()));
                if let Some((of, (_, id))) = wrong {
                    return Err(format!("G3: {it:?} is not of its version: {id} is of version {of}"));
                }
            }
            Act::Append | Act::Fail | Act::Transfer { .. } => {}
        }
    }
    Ok(())
}

/// What was sent after an answer had come is not older than that answer.
fn check_real_time(own: &[&Record]) -> Result<(), String> {
    let mut by_sent: Vec<&&Record> = own.iter().collect();
    by_sent.sort_by_key(|it| it.sent);
    let mut by_answer: Vec<&&Record> = own.iter().collect();
    by_answer.sort_by_key(|it| it.answered);
    let mut answers = by_answer.into_iter().peekable();
    let mut newest: Option<(i64, &Record)> = None;
    for it in by_sent {
        while let Some(before) = answers.next_if(|before| before.answered < it.sent) {
            if let Outcome::Done { version, .. } = before.outcome
                && newest.is_none_or(|(newest, _)| newest < version)
            {
                newest = Some((version, before));
            }
        }
        let (Some((newest, before)), Outcome::Done { version, committed, .. }) = (newest, &it.outcome) else {
            continue;
        };
        if *version < newest || (*committed && *version == newest) {
            let rule = if *committed { "G2" } else { "G3" };
            return Err(format!("{rule}: {it:?} is older than what was known before it: {before:?}"));
        }
    }
    Ok(())
}

/// G7: while a replica runs, none of its scripts that may write runs beside one of another.
pub fn check_overlap(runs: &[Run], end: Ms) -> Result<(), String> {
    let mut parts: Vec<(usize, Ms, Ms, u32)> = Vec::new();
    for run in runs {
        let ran = run.gate.running(run.began, run.ended.unwrap_or(end));
        parts.extend(ran.into_iter().map(|(from, to)| (run.sandbox, from, to, run.id)));
    }
    parts.sort_unstable();
    for pair in parts.windows(2) {
        let [(sandbox, _, until, one), (other_sandbox, from, _, other)] = pair else { continue };
        if sandbox == other_sandbox && from < until {
            return Err(format!(
                "G7: scripts {one} and {other} of sandbox {sandbox} run at once at {from} ms"
            ));
        }
    }
    Ok(())
}

/// Ids that were answered, for the totals.
pub fn answered(history: &[Record]) -> usize {
    history.iter().map(|it| it.script.id).collect::<BTreeSet<_>>().len()
}
