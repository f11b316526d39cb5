//! Processes as the kernel shows them.

use std::collections::BTreeSet;
use std::fs;

/// The processes that a process (its number, or `self`) has started and that live.
pub fn children_of(process: &str) -> BTreeSet<u32> {
    let tasks = fs::read_dir(format!("/proc/{process}/task")).unwrap().flatten();
    let of = |task: fs::DirEntry| fs::read_to_string(task.path().join("children")).unwrap_or_default();
    let all = |text: String| text.split_whitespace().map(|pid| pid.parse().unwrap()).collect::<Vec<_>>();
    tasks.flat_map(|task| all(of(task))).collect()
}

/// The letter for a process' state in `stat` of proc(5); `None` if there is no such process.
pub fn state(pid: u32) -> Option<char> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    stat.rsplit_once(") ")?.1.chars().next()
}
