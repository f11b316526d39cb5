//! The worker's side: `sqlfs worker`, started by a server with two sockets.
//!
//! Scripts and contents come in on standard input, and answers go back there; orders to
//! end a script come in on standard output. One thread runs scripts, one after another.
//! The main thread takes orders, a third watches the memory. Time is kept by the server.

use std::io::{self, Read};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::process::ExitCode;
use std::sync::{Arc, Mutex, PoisonError, mpsc};
use std::time::Duration;

use super::contents::{Inbox, WorkerContents};
use super::guards::{self, Closed, Mappings};
use super::memory::Memory;
use super::outbox::Outbox;
use super::priority;
use super::wire::{self, Ended, Ending, Kind, ORDER, Order, Prepare, Ready, Run, Script, TreeUpdate};
use crate::exec::bash::{prepare, python, run_here};
use crate::exec::host::{Host, Question, Reply};
use crate::exec::pool::{STACK_BYTES, Seat};
use crate::exec::stop::{Cause, Stop};
use crate::exec::{Job, Output, Stream};
use crate::fs::{ChangeSet, Delta, Tree};
use crate::ids::{Caller, Ino, Owner, SandboxId, Sha256, TenantId};

/// The server keeps the time; this only bounds what the engine itself looks at.
const LONGEST: Duration = Duration::from_hours(1);

/// The script that runs now, as the thread that takes orders sees it.
#[derive(Default)]
struct Running {
    number: u64,
    stop: Option<Arc<Stop>>,
    /// An order that came before its script.
    early: Option<(Order, u64)>,
}

type Current = Arc<Mutex<Running>>;

/// Runs scripts until the server closes the sockets; with `python`, ones that may run Python.
/// The error says why it cannot.
pub fn main(python: bool) -> Result<ExitCode, String> {
    // The messages of panics may hold what scripts hold. The runtime's own last words
    // (stack, allocation) are not among them: the server looks for these.
    std::panic::set_hook(Box::new(|_| {}));
    begin(python).map_err(|error| format!("this is no command for people; a server starts it: {error}"))
}

fn begin(python: bool) -> io::Result<ExitCode> {
    guards::close_inherited().map_err(io::Error::other)?;
    let data = socket(&io::stdin())?;
    let mut orders = socket(&io::stdout())?;
    let memory = Arc::new(Memory::open()?);
    // Before there are threads and before anything of a sandbox is here.
    let inbox = Arc::new(Inbox::new(data.try_clone()?));
    let mappings = if python { Mappings::Copies } else { Mappings::Anonymous };
    if python {
        python::warm_up().map_err(io::Error::other)?;
    }
    let closed = guards::close(mappings).map_err(io::Error::other)?;
    let outbox = Arc::new(Outbox::new(data));
    let current = Current::default();
    let (finished, result) = mpsc::channel();

    let scripts = Scripts { inbox: inbox.clone(), outbox: outbox.clone(), current: current.clone(), memory };
    std::thread::Builder::new().name("script".into()).stack_size(STACK_BYTES).spawn(move || {
        // A panic outside of a script is a fault of ours; the server sees the end.
        let end = catch_unwind(AssertUnwindSafe(|| scripts.serve(closed)));
        let _ = finished.send(matches!(end, Ok(Ok(()))));
        // The main thread waits for orders: the server closes them when it sees this end.
        let _ = inbox.lock().unwrap_or_else(PoisonError::into_inner).shutdown(std::net::Shutdown::Both);
    })?;
    take_orders(&mut orders, &current, &outbox);
    // The server is gone or done with this worker, whatever the script's thread does.
    Ok(match result.try_recv() {
        Ok(false) => ExitCode::FAILURE,
        Ok(true) | Err(_) => ExitCode::SUCCESS,
    })
}

fn socket(standard: &impl AsFd) -> io::Result<UnixStream> {
    let owned: OwnedFd = standard.as_fd().try_clone_to_owned()?;
    Ok(UnixStream::from(owned))
}

/// Ends scripts as the server says, until it closes the socket.
fn take_orders(orders: &mut UnixStream, current: &Current, outbox: &Outbox) {
    let mut bytes = [0; ORDER];
    while orders.read_exact(&mut bytes).is_ok() {
        let Some((order, number)) = Order::of(&bytes) else { return };
        let stop = {
            let mut running = current.lock().unwrap_or_else(PoisonError::into_inner);
            if running.number < number {
                running.early = Some((order, number));
            }
            running.stop.clone().filter(|_| running.number == number)
        };
        if let Some(stop) = stop {
            carry_out(order, &stop);
            // What the script has said so far must not wait for its end, which may be
            // that of the process.
            let _ = outbox.flush();
        }
    }
}

fn carry_out(order: Order, stop: &Stop) {
    match order {
        Order::Cancel => stop.stop(Cause::Cancelled),
        Order::Timeout => stop.stop(Cause::TimedOut),
        Order::Interrupt => stop.interrupt(),
    }
}

/// What the thread of the scripts holds.
struct Scripts {
    inbox: Arc<Inbox>,
    outbox: Arc<Outbox>,
    current: Current,
    memory: Arc<Memory>,
}

impl Scripts {
    fn serve(&self, closed: Closed) -> io::Result<()> {
        let Some((Kind::Prepare, payload)) = self.next()? else { return Ok(()) };
        let Prepare { quota, memory: limit } = wire::parse(&payload)?;
        let outbox = self.outbox.clone();
        self.memory.watch(limit, move || drop(outbox.flush()))?;
        let seat = Seat::new()?;
        prepare(&seat, quota);
        let contents = Arc::new(WorkerContents::new(self.inbox.clone(), self.outbox.clone()));
        self.outbox.say(
            Kind::Ready,
            &Ready { closed, thread: priority::this_thread(), used: priority::used_here() },
        )?;
        let mut stdin = None;
        while let Some((kind, payload)) = self.next()? {
            match kind {
                Kind::Stdin => stdin = Some(payload),
                Kind::Run => {
                    let run = wire::parse(&payload)?;
                    drop(payload);
                    self.script(&seat, &contents, run, stdin.take())?;
                }
                _ => return Err(wire::bad("a frame that no worker takes")),
            }
        }
        Ok(())
    }

    fn next(&self) -> io::Result<Option<(Kind, Vec<u8>)>> {
        wire::read(&mut *self.inbox.lock().unwrap_or_else(PoisonError::into_inner))
    }

    fn script(
        &self,
        seat: &Seat,
        contents: &Arc<WorkerContents>,
        run: Run,
        stdin: Option<Vec<u8>>,
    ) -> io::Result<()> {
        let base = update(contents, run.tree)?;
        let stop = Arc::new(Stop::default());
        self.attach(run.number, &stop);
        self.outbox.set_live(run.live);
        let outbox = self.outbox.clone();
        stop.on_own_cause(Box::new(move |end| {
            // If the script does not come back soon, the server ends the process.
            let _ = outbox.say(Kind::Latched, &Ending::from(end));
        }));
        self.memory.begin();
        let ended = run_here(seat, self.job(run.script, base, contents, stdin), &stop);
        self.memory.end();
        self.current.lock().unwrap_or_else(PoisonError::into_inner).stop = None;
        self.outbox.set_live(false);
        let known = self.send_contents(contents, &ended.changes)?;
        let worn = seat.is_worn() || self.memory.is_worn();
        self.outbox.say(
            Kind::Ended,
            &Ended {
                ending: ended.end.into(),
                cwd: ended.cwd,
                duration_us: u64::try_from(ended.duration.as_micros()).unwrap_or(u64::MAX),
                used: priority::used_here(),
                warnings: ended.warnings,
                delta: ended.changes.delta,
                known,
                worn,
            },
        )?;
        seat.wind_up();
        Ok(())
    }

    /// From here on orders reach this script, also one that came already.
    fn attach(&self, number: u64, stop: &Arc<Stop>) {
        let mut running = self.current.lock().unwrap_or_else(PoisonError::into_inner);
        running.number = number;
        running.stop = Some(stop.clone());
        let early = running.early.take();
        drop(running);
        if let Some((order, _)) = early.filter(|(_, early)| *early == number) {
            carry_out(order, stop);
        }
    }

    fn job(&self, script: Script, base: Tree, contents: &Arc<WorkerContents>, stdin: Option<Vec<u8>>) -> Job {
        let outbox = self.outbox.clone();
        let forward = move |stream, data: &[u8]| {
            let kind = match stream {
                Stream::Stdout => Kind::Stdout,
                Stream::Stderr => Kind::Stderr,
            };
            for piece in data.chunks(super::PIECE) {
                // Without a server there is nobody to tell; the main thread ends the process.
                let _ = outbox.put(kind, &[piece]);
            }
        };
        // One byte above the limit tells the server that more came.
        let limit = usize::try_from(script.output_limit).unwrap_or(usize::MAX).saturating_add(1);
        Job {
            // Whose script it is, is the server's to know.
            caller: Caller { tenant: TenantId("".into()), owner: Owner("".into()) },
            sandbox: SandboxId(uuid::Uuid::nil()),
            script: script.text,
            debug: script.debug,
            cwd: script.cwd,
            env: script.env,
            args: script.args,
            stdin,
            timeout: LONGEST,
            base,
            next_ino: script.next_ino,
            mode: script.mode,
            quota: script.quota,
            content: contents.clone(),
            output: Arc::new(Output::forward(limit, Box::new(forward))),
            permissions: script.permissions,
            host: Arc::new(Asks { inbox: self.inbox.clone(), outbox: self.outbox.clone() }),
        }
    }

    /// Sends new contents; returns those that the tree has already.
    fn send_contents(
        &self,
        contents: &WorkerContents,
        changes: &ChangeSet,
    ) -> io::Result<Vec<(Sha256, Ino)>> {
        let mut known = Vec::new();
        for blob in &changes.blobs {
            match &blob.data {
                Some(data) => {
                    self.outbox.put(Kind::Blob, &[&blob.sha256.0, data])?;
                    contents.keep(blob.sha256, data.clone());
                }
                None => known.extend(contents.find(&blob.sha256).map(|ino| (blob.sha256, ino))),
            }
        }
        Ok(known)
    }
}

/// Questions to the server. The script's thread waits: there is nothing else for it to do.
struct Asks {
    inbox: Arc<Inbox>,
    outbox: Arc<Outbox>,
}

impl Asks {
    fn answer(&self, question: &Question) -> io::Result<Reply> {
        self.outbox.say(Kind::Question, question)?;
        match wire::read(&mut *self.inbox.lock().unwrap_or_else(PoisonError::into_inner))? {
            Some((Kind::Reply, payload)) => wire::parse(&payload),
            _ => Err(wire::bad("no reply came")),
        }
    }
}

#[async_trait::async_trait]
impl Host for Asks {
    async fn ask(&self, question: Question) -> Reply {
        self.answer(&question).unwrap_or_else(|error| Reply::Refused(error.to_string()))
    }
}

/// Brings the tree of the last script to that of the next.
fn update(contents: &WorkerContents, update: TreeUpdate) -> io::Result<Tree> {
    let contents_of =
        |delta: &Delta| delta.inodes.iter().filter_map(|row| Some((row.sha256?, row.ino))).collect();
    let (tree, changed) = match update {
        TreeUpdate::Whole(rows) => (Tree::from_rows(rows.inodes, rows.dirents), None),
        TreeUpdate::Changes(delta) => {
            let tree = contents.tree().ok_or_else(|| wire::bad("changes to no tree"))?;
            (tree.apply(&delta), Some(contents_of(&delta)))
        }
    };
    let tree = tree.map_err(|broken| wire::bad(&broken.to_string()))?;
    contents.set_tree(tree.clone(), changed);
    Ok(tree)
}
