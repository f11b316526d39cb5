//! The check of lease traces (`sqlfs::lease::trace`): each file is played through the
//! protocol again, its permissions and grants are followed by rules of their own, and
//! the files of a fleet are laid side by side.

use std::path::{Path, PathBuf};

use sqlfs::lease::keys::LeaseKey;

mod file;
mod fleet;
mod follow;
mod replay;

pub use file::File;
pub use fleet::{Summary, side_by_side};
pub use follow::follow;
pub use replay::replay;

/// What the test did that the promises of the protocol do not cover.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Injected {
    /// Nothing: processes may die and connections may break.
    Nothing,
    /// A process stood still for longer than the margin: two may hold a lease at once.
    Pause,
    /// The store forgot, or was tampered with: besides, tokens may fall and waiting marks
    /// get lost.
    MemoryLoss,
}

/// Checks the traces of `folder`, of processes that may still run. An error names file and
/// line.
pub fn check(folder: &Path, injected: Injected) -> Result<Summary, String> {
    let mut facts = Vec::new();
    for file in &files(folder)? {
        replay(file)?;
        facts.extend(follow(file)?);
    }
    side_by_side(facts, injected)
}

/// When which lease was granted, in the order of the machine's clock.
pub fn grants(folder: &Path) -> Result<Vec<(u64, LeaseKey)>, String> {
    let mut grants = Vec::new();
    for file in &files(folder)? {
        let facts = follow(file)?.into_iter();
        let tokens = facts.filter(|fact| matches!(fact.what, follow::What::Token(_)));
        grants.extend(tokens.map(|fact| (fact.ns, fact.key)));
    }
    grants.sort();
    Ok(grants)
}

fn files(folder: &Path) -> Result<Vec<File>, String> {
    let entries = std::fs::read_dir(folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.expect("a folder entry").path()).collect();
    paths.sort();
    let mut files = Vec::new();
    for path in &paths {
        files.extend(File::read(path)?);
    }
    Ok(files)
}
