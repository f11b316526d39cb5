//! Modules of Python that the embedded interpreter comes without, as files that only scripts
//! see: CPython's own, unchanged (`assets/python`, under its licence).

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use bashkit::{DirEntry, FileType, Metadata};

/// Where the interpreter looks after its own library. (Its snapshot remembers that nothing is
/// there; `python` makes it look again.)
const ROOT: &str = "/usr/local/lib/python3.14";

/// 2026-01-01, for all of them.
const CHANGED: Duration = Duration::from_secs(1_767_225_600);

macro_rules! modules {
    ($($path:literal)*) => {
        /// Sorted, without their folder.
        const MODULES: &[(&str, &str)] =
            &[$(($path, include_str!(concat!("../../../assets/python/", $path)))),*];
    };
}

modules! {
    "cmd.py"
    "dbm/__init__.py"
    "dbm/dumb.py"
    "dbm/sqlite3.py"
    "doctest.py"
    "plistlib.py"
    "shelve.py"
    "unittest/__init__.py"
    "unittest/__main__.py"
    "unittest/_log.py"
    "unittest/async_case.py"
    "unittest/case.py"
    "unittest/loader.py"
    "unittest/main.py"
    "unittest/mock.py"
    "unittest/result.py"
    "unittest/runner.py"
    "unittest/signals.py"
    "unittest/suite.py"
    "unittest/util.py"
}

/// A file or folder of the library.
pub(super) enum Found {
    File(&'static str),
    /// With what is in it.
    Folder(Vec<DirEntry>),
}

/// What is at a path; `None`: nothing of the library.
pub(super) fn find(path: &str) -> Option<Found> {
    let below = path.strip_prefix(ROOT)?;
    let below = match below.strip_prefix('/') {
        Some(below) => below,
        None if below.is_empty() => below,
        None => return None,
    };
    if let Some((_, text)) = MODULES.iter().find(|(name, _)| *name == below) {
        return Some(Found::File(text));
    }
    let folder = if below.is_empty() { String::new() } else { format!("{below}/") };
    let mut entries: Vec<DirEntry> = Vec::new();
    for (name, text) in MODULES {
        let Some(rest) = name.strip_prefix(folder.as_str()) else { continue };
        let (name, metadata) = match rest.split_once('/') {
            Some((name, _)) => (name, metadata(FileType::Directory, 4096)),
            None => (rest, metadata(FileType::File, text.len() as u64)),
        };
        if entries.last().is_none_or(|last| last.name != name) {
            entries.push(DirEntry { name: name.to_owned(), metadata });
        }
    }
    (!entries.is_empty()).then_some(Found::Folder(entries))
}

impl Found {
    pub(super) fn metadata(&self) -> Metadata {
        match self {
            Self::File(text) => metadata(FileType::File, text.len() as u64),
            Self::Folder(_) => metadata(FileType::Directory, 4096),
        }
    }
}

fn metadata(file_type: FileType, size: u64) -> Metadata {
    let changed: SystemTime = UNIX_EPOCH + CHANGED;
    let mode = if file_type == FileType::Directory { 0o755 } else { 0o644 };
    Metadata { file_type, size, mode, modified: changed, created: changed }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_and_folders_are_found_and_nothing_else() {
        let names = |path: &str| match find(path) {
            Some(Found::Folder(entries)) => {
                Some(entries.into_iter().map(|entry| entry.name).collect::<Vec<_>>().join(" "))
            }
            Some(Found::File(_)) | None => None,
        };
        let root = names(ROOT).unwrap();
        assert_eq!(root, "cmd.py dbm doctest.py plistlib.py shelve.py unittest");
        assert_eq!(names(&format!("{ROOT}/dbm")).unwrap(), "__init__.py dumb.py sqlite3.py");
        assert!(
            matches!(find(&format!("{ROOT}/dbm/dumb.py")), Some(Found::File(text)) if text.contains("import"))
        );
        for path in ["/usr/local/lib", &format!("{ROOT}x"), &format!("{ROOT}/db"), &format!("{ROOT}/x.py")] {
            assert!(find(path).is_none(), "{path}");
        }
        assert!(MODULES.is_sorted());
    }
}
