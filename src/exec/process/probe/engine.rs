//! Scripts under the guards: the interpreter as it is, in a process that is closed.

use std::collections::BTreeMap;
use std::io::{BufRead, Write};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use bytes::Bytes;
use serde::{Deserialize, Serialize};

use crate::clock;
use crate::exec::{BashInterpreter, Control, Interpreter, Job, Output};
use crate::fs::{ContentSource, ContentUnavailable, Errno, Mode, NodeBody, Quota, Tree, WorkingCopy};
use crate::ids::Sha256;

/// One script, and the files that it finds.
#[derive(Debug, Serialize, Deserialize)]
pub struct Request {
    /// Directory that it starts in.
    pub cwd: String,
    /// Absolute path → mode and content.
    pub files: BTreeMap<String, (u32, Vec<u8>)>,
    /// Exported variables.
    pub env: BTreeMap<String, String>,
    /// bash source.
    pub script: String,
}

/// What it came to.
#[derive(Debug, Serialize, Deserialize)]
pub struct Reply {
    /// `End` as `Debug` writes it.
    pub end: String,
    /// Bytes on standard output.
    pub stdout: Vec<u8>,
    /// Below the directory that it started in: path → mode and content of a file (`F`), or
    /// target of a link (`L`), or a directory (`D`).
    pub files: BTreeMap<String, (char, u32, Vec<u8>)>,
}

const QUOTA: Quota = Quota { entries: 200_000, bytes: 1 << 30, file_bytes: 256 << 20, memory: 256 << 20 };

/// Answers requests, a line of JSON each, until there are no more.
pub fn serve(requests: impl BufRead, mut replies: impl Write) -> std::io::Result<()> {
    let interpreter = BashInterpreter::new(2);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build()?;
    for line in requests.lines() {
        let request: Request = serde_json::from_str(&line?)?;
        let reply = runtime.block_on(run(&interpreter, request)).map_err(std::io::Error::other)?;
        serde_json::to_writer(&mut replies, &reply)?;
        replies.write_all(b"\n")?;
        replies.flush()?;
    }
    Ok(())
}

async fn run(interpreter: &BashInterpreter, request: Request) -> Result<Reply, Errno> {
    let (mut base, mut next_ino) = Tree::first(clock::wall_ns());
    let content: Arc<Held> = Arc::default();
    let over = |tree: &Tree, ino| {
        WorkingCopy::new(tree.clone(), ino, Mode::ReadWrite, QUOTA, content.clone(), clock::wall_ns)
    };
    let setup = over(&base, next_ino);
    setup.mkdir_all(&request.cwd)?;
    for (path, (mode, bytes)) in &request.files {
        setup.mkdir_all(path.rsplit_once('/').map_or("/", |(parent, _)| parent))?;
        setup.write(path, bytes)?;
        setup.chmod(path, *mode)?;
    }
    let changes = setup.finish()?;
    content.keep(&changes);
    base = base.apply(&changes.delta).map_err(|_| Errno::EIO)?;
    next_ino = next_ino.max(changes.next_ino);

    let output = Arc::new(Output::buffered(16 << 20));
    let job = Job {
        script: request.script,
        debug: false,
        cwd: request.cwd.clone(),
        env: request.env,
        args: Vec::new(),
        stdin: None,
        timeout: Duration::from_mins(1),
        base: base.clone(),
        next_ino,
        mode: Mode::ReadWrite,
        quota: QUOTA,
        content: content.clone(),
        output: output.clone(),
    };
    let ended = interpreter.run(job, Control::new()).await;
    content.keep(&ended.changes);
    let tree = base.apply(&ended.changes.delta).map_err(|_| Errno::EIO)?;
    let read = over(&tree, next_ino.max(ended.changes.next_ino));
    let below = format!("{}/", request.cwd);
    let mut files = BTreeMap::new();
    for (path, _, node) in tree.walk(&request.cwd, None).into_iter().flatten() {
        let Some(name) = path.strip_prefix(&below) else { continue };
        let entry = match &node.body {
            NodeBody::File { .. } => ('F', node.mode, read.read(&path)?.to_vec()),
            NodeBody::Dir { .. } => ('D', node.mode, Vec::new()),
            NodeBody::Symlink { target } => ('L', node.mode, target.to_string().into_bytes()),
        };
        files.insert(name.to_owned(), entry);
    }
    Ok(Reply { end: format!("{:?}", ended.end), stdout: output.take().stdout, files })
}

/// Contents by hash, as a store would hold them.
#[derive(Default)]
struct Held(Mutex<BTreeMap<Sha256, Bytes>>);

impl Held {
    fn keep(&self, changes: &crate::fs::ChangeSet) {
        let mut held = self.0.lock().expect("no panic in here");
        let blobs = changes.blobs.iter();
        held.extend(blobs.filter_map(|blob| Some((blob.sha256, blob.data.clone()?))));
    }
}

impl ContentSource for Held {
    fn read(&self, sha256: &Sha256, _size: u64) -> Result<Bytes, ContentUnavailable> {
        self.0.lock().expect("no panic in here").get(sha256).cloned().ok_or(ContentUnavailable)
    }
}
