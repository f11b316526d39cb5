//! The secret that signs tokens: given by the operator, or made once and kept in the data
//! folder, readable by its owner alone.

use std::fmt::Write as _;
use std::io::{ErrorKind, Write as _};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::Path;

use crate::config::{Config, Secret};

/// Name of the secret's file in the data folder.
pub const FILE: &str = "auth-secret";

/// The secret cannot be read or kept.
#[derive(Debug, thiserror::Error)]
#[error("{path}: {cause}")]
pub struct SecretError {
    path: String,
    cause: String,
}

/// AUTH_SECRET, or the one in the data folder, which is made if it is not there. Safe to
/// call from several processes at once: all get the same.
pub fn auth_secret(config: &Config) -> Result<Secret, SecretError> {
    if let Some(secret) = &config.auth_secret {
        return Ok(secret.clone());
    }
    let path = config.data_dir.join(FILE);
    let error = |cause: String| SecretError { path: path.display().to_string(), cause };
    let make_or_read = || -> std::io::Result<String> {
        match std::fs::read_to_string(&path) {
            Err(e) if e.kind() == ErrorKind::NotFound => make(&config.data_dir, &path),
            read => read,
        }
    };
    let text = make_or_read().map_err(|e| error(e.to_string()))?;
    match text.trim() {
        "" => {
            Err(error("is empty; delete it to get a new secret (tokens made before are then refused)".into()))
        }
        secret => Ok(Secret(secret.to_owned())),
    }
}

/// Makes the file under another name and links it into place, so that nobody ever reads
/// half a secret and the first of two processes wins.
fn make(folder: &Path, path: &Path) -> std::io::Result<String> {
    std::fs::DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
    let mut random = [0; 32];
    getrandom::fill(&mut random).map_err(|e| std::io::Error::other(e.to_string()))?;
    let mut secret = String::new();
    random.iter().try_for_each(|byte| write!(secret, "{byte:02x}")).map_err(std::io::Error::other)?;
    let draft = folder.join(format!("{FILE}.{}", uuid::Uuid::new_v4()));
    let mut file = std::fs::OpenOptions::new().write(true).create_new(true).mode(0o600).open(&draft)?;
    let linked = file
        .write_all(secret.as_bytes())
        .and_then(|()| file.sync_all())
        .and_then(|()| std::fs::hard_link(&draft, path));
    std::fs::remove_file(&draft)?;
    match linked {
        Ok(()) => std::fs::File::open(folder)?.sync_all()?,
        Err(e) if e.kind() == ErrorKind::AlreadyExists => {}
        Err(e) => return Err(e),
    }
    std::fs::read_to_string(path)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    fn config(folder: &Path) -> Config {
        let folder = folder.to_str().expect("UTF-8").to_owned();
        Config::parse(|name| (name == "SQLFS_DATA_DIR").then(|| folder.clone())).expect("valid")
    }

    #[test]
    fn a_secret_is_made_once_and_is_private() {
        let folder = tempfile::tempdir().expect("a folder");
        let config = config(&folder.path().join("new"));
        let processes: Vec<_> = (0..8)
            .map(|_| {
                let config = config.clone();
                std::thread::spawn(move || auth_secret(&config).expect("a secret").0)
            })
            .collect();
        let secrets: Vec<String> = processes.into_iter().map(|p| p.join().expect("a thread")).collect();
        assert_eq!(secrets[0].len(), 64);
        assert!(secrets.iter().all(|s| *s == secrets[0]), "{secrets:?}");
        let left: Vec<_> = std::fs::read_dir(&config.data_dir).expect("the folder").collect();
        assert_eq!(left.len(), 1, "drafts are left: {left:?}");
        let mode = std::fs::metadata(config.data_dir.join(FILE)).expect("the file").permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
    }

    #[test]
    fn a_given_secret_wins_and_an_empty_file_is_refused() {
        let folder = tempfile::tempdir().expect("a folder");
        let mut config = config(folder.path());
        std::fs::write(folder.path().join(FILE), "\n").expect("written");
        let error = auth_secret(&config).expect_err("refused").to_string();
        assert!(error.contains(FILE) && error.lines().count() == 1, "{error}");
        config.auth_secret = Some(Secret("given".into()));
        assert_eq!(auth_secret(&config).expect("a secret").0, "given");
    }
}
