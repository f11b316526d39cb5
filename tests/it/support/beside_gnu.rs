//! The same script by us and by the machine's own bash and tools, on the same files.

use std::collections::BTreeMap;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;
use std::process::Command;

use sqlfs::exec::End;
use sqlfs::fs::NodeBody;

use crate::support::scripts::{Ran, Sandbox};

/// Where ours run.
pub const DIR: &str = "/home/user/w";

/// What all files of a comparison are dated.
const MTIME_NS: i64 = 1_700_000_000_123_456_789;

/// What a script did.
#[derive(Debug, PartialEq, Eq)]
pub struct Seen {
    pub stdout: String,
    pub stderr: String,
    pub exit: i32,
    pub files: Files,
}

/// Path → kind, content or target, first path with the same inode.
pub type Files = BTreeMap<String, (char, Vec<u8>, String)>;

/// Files, and the two places that scripts meet them in.
pub struct Beside {
    /// Copied for each script.
    template: tempfile::TempDir,
    sandbox: Sandbox,
}

impl Beside {
    /// Lets `setup` make the files, here and there, and dates all of them the same.
    pub async fn new(setup: &str) -> Self {
        let template = tempfile::tempdir().unwrap();
        let date = "find . -exec touch -h -d @1700000000.123456789 {} +";
        for script in [setup, date] {
            let made = bash(template.path(), script);
            assert!(made.status.success(), "the setup fails: {script}: {made:?}");
        }
        let mut sandbox = Sandbox::new();
        sandbox.edit(|files| files.mkdir_all(DIR).unwrap());
        let ran = run(&mut sandbox, setup).await;
        assert_eq!(ran.ended.end, End::Exited(0), "the setup fails: {setup}: {}", ran.stderr());
        let tree = sandbox.tree.clone();
        sandbox.edit(|files| {
            for (path, _, _) in tree.walk(DIR, None).unwrap() {
                files.set_mtime(&path, MTIME_NS, false).unwrap();
            }
        });
        Self { template, sandbox }
    }

    /// What GNU's do. `Err` when the script takes longer than 10 s.
    pub fn real(&self, script: &str) -> Result<Seen, String> {
        let parent = tempfile::tempdir().unwrap();
        let folder = parent.path().join("w");
        let copied = Command::new("cp").arg("-a").arg(self.template.path()).arg(&folder).status().unwrap();
        assert!(copied.success());
        let output = bash(&folder, script);
        let exit = output.status.code().filter(|&code| code != TIMED_OUT).ok_or("does not end by itself")?;
        let mut files = Files::new();
        list_real(&folder, "", &mut files, &mut BTreeMap::new());
        let text = |bytes: &[u8]| text(bytes).replace(folder.to_str().unwrap(), DIR);
        Ok(Seen { stdout: text(&output.stdout), stderr: text(&output.stderr), exit, files })
    }

    /// What ours do. `Err` when the script does not end by itself.
    pub async fn ours(&self, script: &str) -> Result<Seen, String> {
        let mut sandbox = self.sandbox.clone();
        let ran = run(&mut sandbox, script).await;
        let End::Exited(exit) = ran.ended.end else { return Err(format!("ends as {:?}", ran.ended.end)) };
        let (stdout, stderr) = (text(&ran.output.stdout), text(&ran.output.stderr));
        Ok(Seen { stdout, stderr, exit, files: list_ours(&sandbox) })
    }
}

/// What timeout(1) exits with when it had to kill.
const TIMED_OUT: i32 = 137;

fn bash(folder: &Path, script: &str) -> std::process::Output {
    let mut bash = Command::new("timeout");
    bash.args(["-s", "KILL", "10", "bash", "-c", script]).current_dir(folder).env_clear();
    for (name, value) in
        [("PATH", "/usr/bin:/bin"), ("HOME", "/home/user"), ("LC_ALL", "C.UTF-8"), ("TZ", "UTC")]
    {
        bash.env(name, value);
    }
    bash.stdin(std::process::Stdio::null()).output().unwrap()
}

async fn run(sandbox: &mut Sandbox, script: &str) -> Ran {
    let mut job = sandbox.job(script);
    DIR.clone_into(&mut job.cwd);
    for (name, value) in [("LC_ALL", "C.UTF-8"), ("TZ", "UTC")] {
        job.env.insert(name.to_owned(), value.to_owned());
    }
    sandbox.run_job(job).await
}

/// Bytes to compare and to show.
fn text(bytes: &[u8]) -> String {
    match std::str::from_utf8(bytes) {
        Ok(text) => text.to_owned(),
        Err(_) => bytes.escape_ascii().to_string(),
    }
}

fn list_real(dir: &Path, prefix: &str, files: &mut Files, first: &mut BTreeMap<u64, String>) {
    let mut entries: Vec<_> = std::fs::read_dir(dir).unwrap().map(Result::unwrap).collect();
    entries.sort_by_key(std::fs::DirEntry::file_name);
    for entry in entries {
        let (path, name) = (entry.path(), format!("{prefix}{}", entry.file_name().to_str().unwrap()));
        let meta = path.symlink_metadata().unwrap();
        let same = first.entry(meta.ino()).or_insert_with(|| name.clone()).clone();
        if meta.is_symlink() {
            let target = path.read_link().unwrap().to_str().unwrap().as_bytes().to_vec();
            files.insert(name, ('l', target, same));
        } else if meta.is_dir() {
            list_real(&path, &format!("{name}/"), files, first);
            files.insert(name, ('d', Vec::new(), same));
        } else {
            files.insert(name, ('-', std::fs::read(&path).unwrap(), same));
        }
    }
}

fn list_ours(sandbox: &Sandbox) -> Files {
    let working_copy = sandbox.working_copy();
    // A script may remove the directory that it runs in.
    let Ok(walk) = sandbox.tree.walk(DIR, None) else { return Files::new() };
    let mut found: Vec<_> = walk
        .filter_map(|(path, ino, node)| {
            let name = path.strip_prefix(DIR)?.strip_prefix('/')?.to_owned();
            let (kind, content) = match &node.body {
                NodeBody::File { .. } => ('-', working_copy.read(&path).unwrap().to_vec()),
                NodeBody::Dir { .. } => ('d', Vec::new()),
                NodeBody::Symlink { target } => ('l', target.as_bytes().to_vec()),
            };
            Some((name, ino, kind, content))
        })
        .collect();
    // In the order in which `list_real` meets them.
    found.sort_by(|a, b| a.0.split('/').cmp(b.0.split('/')));
    let mut first = BTreeMap::new();
    let entry = |(name, ino, kind, content): (String, u64, char, Vec<u8>)| {
        let same = first.entry(ino).or_insert_with(|| name.clone()).clone();
        (name, (kind, content, same))
    };
    found.into_iter().map(entry).collect()
}
