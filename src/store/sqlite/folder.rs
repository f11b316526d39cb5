//! The exclusive hold on a data folder. The operating system lets go of it when the
//! process ends, however it ends.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{Read, Seek, Write};
use std::path::Path;

use crate::store::{StoreError, StoreResult};

/// Name of the lock file in the folder of the database.
const LOCK_FILE: &str = "lock";

/// While it lives, no other process opens the folder.
#[derive(Debug)]
pub(super) struct Hold(#[expect(dead_code, reason = "the lock lives as long as the open file")] File);

/// Takes the folder of `database`, which is made if absent (for its user alone).
pub(super) fn hold(database: &Path) -> StoreResult<Hold> {
    let folder = match database.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        Some(_) | None => Path::new("."),
    };
    let refused = |what: &str, error: &std::io::Error| {
        StoreError::Refused(format!("the data folder {}: {what}: {error}", folder.display()))
    };
    make(folder).map_err(|error| refused("cannot be made", &error))?;
    let path = folder.join(LOCK_FILE);
    let opened = OpenOptions::new().read(true).write(true).create(true).truncate(false).open(&path);
    let mut file = opened.map_err(|error| refused("its lock file cannot be opened", &error))?;
    match file.try_lock() {
        Ok(()) => {}
        Err(TryLockError::WouldBlock) => {
            let mut holder = String::new();
            // Only to be helpful: the number may be missing.
            let _ = file.read_to_string(&mut holder);
            let process = match holder.trim() {
                "" => String::new(),
                number => format!(" {number}"),
            };
            return Err(StoreError::Refused(format!(
                "the data folder {} is in use by another sqlfs process{process}: stop it, or set SQLFS_DATA_DIR to \
                 another folder",
                folder.display()
            )));
        }
        Err(TryLockError::Error(error)) => return Err(refused("cannot be locked", &error)),
    }
    let noted =
        file.set_len(0).and_then(|()| file.rewind()).and_then(|()| write!(file, "{}", std::process::id()));
    noted.map_err(|error| refused("its lock file cannot be written", &error))?;
    Ok(Hold(file))
}

fn make(folder: &Path) -> std::io::Result<()> {
    let mut builder = std::fs::DirBuilder::new();
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.recursive(true).create(folder)
}
