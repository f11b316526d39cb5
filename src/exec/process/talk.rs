//! One script from the server's side: it goes out, and what comes back is taken in.

use std::io;
use std::sync::atomic::Ordering;

use bytes::{Buf, Bytes};

use super::Latched;
use super::check::Claim;
use super::child::Line;
use super::pool::Counts;
use super::wire::{self, Ask, Ended, Ending, Kind, Run, Script, TreeUpdate};
use crate::exec::host::Reply;
use crate::exec::{End, Job, Stream};
use crate::fs::{Node, Quota};
use crate::ids::Sha256;

/// Bytes of rows and text with which a script may end.
const LONGEST_END: usize = 128 << 20;

/// Bytes of a question beside the body of a request.
const LONGEST_HEAD: usize = 1 << 20;

/// Takes what still comes from a script that was cut off, for nobody, until it has ended.
/// Returns whether its worker is worn.
pub(super) async fn drain(line: &mut Line, quota: &Quota) -> io::Result<bool> {
    loop {
        let (kind, payload) = line.next(longest(quota)).await?;
        let mut answer = Vec::new();
        match kind {
            Kind::Ended => return Ok(wire::parse::<Ended>(&payload)?.worn),
            Kind::Ask => wire::put(&mut answer, Kind::Content, &[&[0]])?,
            Kind::Question => {
                wire::say(&mut answer, Kind::Reply, &Reply::Refused("the script was cut off".to_owned()))?;
            }
            _ => continue,
        }
        line.send(&answer).await?;
    }
}

/// The longest payload that a worker may send, by kind.
fn longest(quota: &Quota) -> impl Fn(Kind) -> usize + use<> {
    let file_bytes = usize::try_from(quota.file_bytes).unwrap_or(usize::MAX);
    move |kind| match kind {
        Kind::Stdout | Kind::Stderr => super::PIECE,
        Kind::Ask | Kind::Latched => 16 << 10,
        Kind::Question => file_bytes.saturating_add(LONGEST_HEAD),
        Kind::Blob => file_bytes.saturating_add(32),
        Kind::Ended => LONGEST_END,
        Kind::Prepare | Kind::Stdin | Kind::Run | Kind::Content | Kind::Reply | Kind::Ready => 0,
    }
}

/// A script and the worker that runs it.
pub(super) struct Talk<'a> {
    line: &'a mut Line,
    job: &'a Job,
    latched: &'a Latched,
    counts: &'a Counts,
    contents: Vec<(Sha256, Bytes)>,
    held: u64,
}

impl<'a> Talk<'a> {
    pub(super) fn new(line: &'a mut Line, job: &'a Job, latched: &'a Latched, counts: &'a Counts) -> Self {
        Self { line, job, latched, counts, contents: Vec::new(), held: 0 }
    }

    /// Sends the script and takes everything that comes until it has ended. An error
    /// means that the worker died or broke the protocol.
    pub(super) async fn run(mut self, number: u64, tree: TreeUpdate) -> io::Result<(Ended, Claim)> {
        let (job, mut first) = (self.job, Vec::new());
        if let Some(stdin) = &job.stdin {
            wire::put(&mut first, Kind::Stdin, &[stdin])?;
        }
        let script = Script {
            text: job.script.clone(),
            next_ino: job.next_ino,
            debug: job.debug,
            cwd: job.cwd.clone(),
            env: job.env.clone(),
            args: job.args.clone(),
            mode: job.mode,
            quota: job.quota,
            permissions: job.permissions,
            output_limit: job.output.limit() as u64,
        };
        let run = Run { number, tree, live: job.output.is_live(), script };
        wire::say(&mut first, Kind::Run, &run)?;
        self.counts.sent_bytes.fetch_add(first.len() as u64, Ordering::Relaxed);
        self.line.send(&first).await?;
        drop(first);
        let longest = longest(&job.quota);
        loop {
            let (kind, payload) = self.line.next(&longest).await?;
            match kind {
                Kind::Stdout => job.output.write(Stream::Stdout, &payload).await,
                Kind::Stderr => job.output.write(Stream::Stderr, &payload).await,
                Kind::Ask => self.answer(&wire::parse(&payload)?).await?,
                Kind::Question => {
                    let reply = job.host.ask(wire::parse(&payload)?).await;
                    let mut answer = Vec::new();
                    wire::say(&mut answer, Kind::Reply, &reply)?;
                    self.line.send(&answer).await?;
                }
                Kind::Latched => {
                    let ending: Ending = wire::parse(&payload)?;
                    self.latched.set(ending.end(|| End::Failed("the script was cut off".into())));
                }
                Kind::Blob => self.keep(payload)?,
                Kind::Ended => {
                    let mut ended: Ended = wire::parse(&payload)?;
                    let claim = Claim {
                        delta: std::mem::take(&mut ended.delta),
                        contents: self.contents,
                        known: std::mem::take(&mut ended.known),
                    };
                    return Ok((ended, claim));
                }
                Kind::Prepare | Kind::Stdin | Kind::Run | Kind::Content | Kind::Reply | Kind::Ready => {
                    return Err(wire::bad("a frame that no server takes"));
                }
            }
        }
    }

    /// Gives a content of the tree that the worker was given, and no other.
    async fn answer(&mut self, ask: &Ask) -> io::Result<()> {
        let node = self.job.base.node(ask.ino);
        let Some(size) = node.filter(|node| node.sha256() == Some(ask.sha256)).map(Node::size) else {
            return Err(wire::bad("a worker asked for a content that is not in its tree"));
        };
        let data = match self.job.content.at_hand(&ask.sha256) {
            Some(data) => Some(data),
            None => {
                let (content, sha256) = (self.job.content.clone(), ask.sha256);
                let read = tokio::task::spawn_blocking(move || content.read(&sha256, size));
                read.await.ok().and_then(Result::ok)
            }
        };
        let mut answer = Vec::new();
        match data {
            Some(data) => wire::put(&mut answer, Kind::Content, &[&[1], &data])?,
            None => wire::put(&mut answer, Kind::Content, &[&[0]])?,
        }
        self.line.send(&answer).await
    }

    fn keep(&mut self, mut payload: Bytes) -> io::Result<()> {
        let sha256 = payload.get(..32).and_then(Sha256::from_slice);
        let sha256 = sha256.ok_or_else(|| wire::bad("a content without its hash"))?;
        payload.advance(32);
        self.held += payload.len() as u64;
        if self.held > self.job.quota.memory {
            return Err(wire::bad("more new content than one script may hold"));
        }
        // A small one would keep all else alive that came with it.
        let data = if payload.len() < super::PIECE { Bytes::copy_from_slice(&payload) } else { payload };
        self.contents.push((sha256, data));
        Ok(())
    }
}
