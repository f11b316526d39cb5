//! The scores in README.md, "What differs from bash": a run that measured another one
//! fails, or writes it there when SQLFS_UPDATE_README is set.

use std::path::PathBuf;

/// README.md must say that of `scripts` this many are equal. Where the other side is the
/// machine's own tools, `slack` allows for their versions.
pub fn hold(scripts: &str, equal: usize, all: usize, slack: usize) {
    let path = PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/README.md"));
    let text = std::fs::read_to_string(&path).expect("README.md");
    let begin = format!("| {scripts} | ");
    let row = text.lines().find(|line| line.starts_with(&begin));
    let row = row.unwrap_or_else(|| panic!("README.md has no row {begin:?}"));
    let told: usize = row[begin.len()..].split(' ').next().and_then(|n| n.parse().ok()).expect("a number");
    let tenths = equal * 1000 / all;
    let right = format!("{begin}{equal} | {}.{} % |", tenths / 10, tenths % 10);
    if std::env::var_os("SQLFS_UPDATE_README").is_some() {
        std::fs::write(path, text.replacen(row, &right, 1)).expect("written");
        return;
    }
    assert!(
        told.abs_diff(equal) <= slack,
        "README.md is out of date; run again with SQLFS_UPDATE_README=1\n{row}\n{right}"
    );
}
