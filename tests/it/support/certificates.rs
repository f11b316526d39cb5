//! Throw-away certificates, made by the `openssl` in PATH: an authority, and servers' under it.

use std::path::{Path, PathBuf};
use std::process::Command;

/// An authority of a test's own. Its files go with it.
pub struct Authority {
    folder: tempfile::TempDir,
}

/// Files of one server.
pub struct Certificate {
    /// PEM.
    pub certificate: PathBuf,
    /// PEM, not encrypted.
    pub key: PathBuf,
}

impl Authority {
    /// A new one, which nobody trusts yet.
    pub fn new() -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        openssl(
            folder.path(),
            &[&["req", "-x509", "-subj", "/CN=throw-away"], KEY, &["-keyout", "ca.key", "-out", "ca.pem"]],
        );
        Self { folder }
    }

    /// Its certificate, for those who shall trust it.
    pub fn file(&self) -> PathBuf {
        self.folder.path().join("ca.pem")
    }

    /// A certificate for a server whose names are `names`, as `openssl` writes them: `DNS:a`, `IP:1.2.3.4`.
    pub fn server(&self, name: &str, names: &str) -> Certificate {
        let file = |kind: &str| format!("{name}.{kind}");
        let (names, key, pem) = (format!("subjectAltName={names}"), file("key"), file("pem"));
        let subject = format!("/CN={name}");
        let usage = ["-CA", "ca.pem", "-CAkey", "ca.key", "-addext", "basicConstraints=critical,CA:FALSE"];
        let request = ["req", "-x509", "-subj", &subject, "-addext", &names];
        openssl(self.folder.path(), &[&request, &usage, KEY, &["-keyout", &key, "-out", &pem]]);
        let at = |name: &str| self.folder.path().join(name);
        Certificate { certificate: at(&pem), key: at(&key) }
    }
}

const KEY: &[&str] = &["-days", "2", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"];

fn openssl(folder: &Path, args: &[&[&str]]) {
    let args = args.concat();
    let made = Command::new("openssl").args(&args).current_dir(folder).output().expect("openssl is in PATH");
    assert!(made.status.success(), "openssl {args:?}: {}", String::from_utf8_lossy(&made.stderr));
}
