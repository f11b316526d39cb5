//! Threads for scripts: large stacks, bounded number, replaced when stuck.
//!
//! A script's engine is one long poll: it would hold an async worker for as long as it
//! computes, and it recurses deeper than a worker's stack allows. So each job gets an
//! OS thread with a runtime of its own. Threads are parked and reused; one that does
//! not come back in time is given up: its place goes to another, and it ends itself
//! when it comes back at last.

use std::any::Any;
use std::cell::{Cell, RefCell};
use std::future::Future;
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError, Weak, mpsc};
use std::task::{Context, Poll};
use std::time::Duration;

use tokio::runtime::Runtime;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, oneshot};

/// Stack of a script's thread. Virtual: only what is touched costs memory. The engine's
/// recursion from command to command is stopped long before (see `guards`); the rest is
/// for what recurses inside one command where nothing can stop it: dropping a value that
/// jq nested four million levels deep takes 700 MB.
pub const STACK_BYTES: usize = 1 << 30;

/// A bounded set of script threads. Cheap to clone.
#[derive(Clone)]
pub struct Pool {
    inner: Arc<Inner>,
}

struct Inner {
    places: Arc<Semaphore>,
    parked: Mutex<Vec<mpsc::Sender<Task>>>,
}

/// A job as its thread runs it; `true` when the thread has parked itself again.
type Run = Box<dyn FnOnce(&Seat, mpsc::Sender<Task>) -> bool + Send>;

/// What a parked thread is woken with: the job, and the sender that wakes it again.
struct Task {
    run: Run,
    wake: mpsc::Sender<Task>,
}

/// What a job sees of its thread.
pub struct Seat {
    runtime: Runtime,
    worn: Cell<bool>,
    kept: RefCell<Option<Box<dyn Any>>>,
    afterwards: RefCell<Option<Afterwards>>,
}

type Afterwards = Box<dyn FnOnce(&Seat)>;

impl Seat {
    /// A seat for the calling thread, whose stack should be of [`STACK_BYTES`].
    pub(crate) fn new() -> io::Result<Self> {
        Ok(Self::with(runtime()?))
    }

    fn with(runtime: Runtime) -> Self {
        Self { runtime, worn: Cell::new(false), kept: RefCell::default(), afterwards: RefCell::default() }
    }

    /// Whether the thread should end after this job.
    #[must_use]
    pub fn is_worn(&self) -> bool {
        self.worn.get()
    }

    /// The thread's runtime: current-thread, with a clock, without I/O.
    #[must_use]
    pub fn runtime(&self) -> &Runtime {
        &self.runtime
    }

    /// Lets the thread end after this job: its stack grew and would stay resident.
    pub fn retire(&self) {
        self.worn.set(true);
    }

    /// Does `work` once the job's result has been handed over, unless the thread ends.
    pub fn afterwards(&self, work: impl FnOnce(&Self) + 'static) {
        *self.afterwards.borrow_mut() = Some(Box::new(work));
    }

    /// Leaves something for the thread's next job.
    pub fn keep(&self, something: impl Any) {
        *self.kept.borrow_mut() = Some(Box::new(something));
    }

    /// What an earlier job left, if it is of this kind.
    #[must_use]
    pub fn take<T: Any>(&self) -> Option<T> {
        let kept = self.kept.borrow_mut().take()?;
        kept.downcast().ok().map(|something| *something)
    }

    /// What was left for after the job. A panic in here ends the thread; the next job gets
    /// another.
    pub(crate) fn wind_up(&self) {
        let work = self.afterwards.borrow_mut().take();
        if let Some(work) = work {
            // Whoever waits for the result may have been woken on this thread's processor.
            std::thread::yield_now();
            work(self);
        }
    }
}

/// A job panicked; the payload as text, for the log.
#[derive(Debug, thiserror::Error)]
#[error("the job panicked: {0}")]
pub struct Panicked(pub String);

impl Pool {
    /// A pool of at most `threads` (at least one) threads, started when needed.
    #[must_use]
    pub fn new(threads: usize) -> Self {
        let places = Arc::new(Semaphore::new(threads.max(1)));
        Self { inner: Arc::new(Inner { places, parked: Mutex::default() }) }
    }

    /// Waits for a free place and takes it. Fair.
    pub async fn place(&self) -> Place {
        let permit = self.inner.places.clone().acquire_owned().await;
        // The semaphore is never closed.
        Place { pool: self.inner.clone(), permit: permit.expect("an open semaphore") }
    }
}

/// The right to run one job now.
pub struct Place {
    pool: Arc<Inner>,
    permit: OwnedSemaphorePermit,
}

/// A running job's result. Given up after `grace` when dropped before it is there.
pub struct Running<T> {
    result: oneshot::Receiver<Result<T, Panicked>>,
    held: Held,
    grace: Duration,
    finished: bool,
}

/// The place of a running job: taken by the thread when it comes back, or by the one
/// who gives the thread up, whoever is first.
type Held = Arc<Mutex<Option<OwnedSemaphorePermit>>>;

fn take(held: &Held) -> Option<OwnedSemaphorePermit> {
    held.lock().unwrap_or_else(PoisonError::into_inner).take()
}

impl Place {
    /// Starts `job` on a parked or new thread. `Err` when the system gives no thread.
    pub fn start<T: Send + 'static>(
        self,
        grace: Duration,
        job: impl FnOnce(&Seat) -> T + Send + 'static,
    ) -> io::Result<Running<T>> {
        let (done, result) = oneshot::channel();
        let held: Held = Arc::new(Mutex::new(Some(self.permit)));
        let pool = Arc::downgrade(&self.pool);
        let mine = held.clone();
        let run: Run = Box::new(move |seat: &Seat, wake: mpsc::Sender<Task>| {
            // Nothing that a panic may have left half-done is looked at afterwards:
            // the job owns its state, and the thread ends.
            let result = catch_unwind(AssertUnwindSafe(|| job(seat)));
            let place = take(&mine);
            let again = place.is_some() && result.is_ok() && !seat.worn.get();
            // A receiver that is gone has given the job up.
            let _ = done.send(result.map_err(|payload| Panicked(text_of(payload.as_ref()))));
            drop(place);
            if again {
                seat.wind_up();
                if let Some(pool) = Weak::upgrade(&pool) {
                    pool.parked.lock().unwrap_or_else(PoisonError::into_inner).push(wake);
                }
            }
            again
        });
        let parked = self.pool.parked.lock().unwrap_or_else(PoisonError::into_inner).pop();
        let task = match parked {
            Some(wake) => Task { run, wake: wake.clone() }.send(&wake),
            None => Err(run),
        };
        if let Err(run) = task {
            start_thread(run)?;
        }
        Ok(Running { result, held, grace, finished: false })
    }
}

impl Task {
    fn send(self, to: &mpsc::Sender<Task>) -> Result<(), Run> {
        to.send(self).map_err(|unsent| unsent.0.run)
    }
}

/// The runtime of one script at a time.
fn runtime() -> io::Result<Runtime> {
    // Larger scripts are parsed on the runtime's blocking threads.
    tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .thread_stack_size(STACK_BYTES)
        .max_blocking_threads(4)
        .build()
}

fn start_thread(run: Run) -> io::Result<()> {
    let runtime = runtime()?;
    let (wake, tasks) = mpsc::channel::<Task>();
    let first = Task { run, wake: wake.clone() };
    let _ = wake.send(first);
    drop(wake);
    std::thread::Builder::new().name("script".into()).stack_size(STACK_BYTES).spawn(move || {
        let seat = Seat::with(runtime);
        // Ends when the pool and with it the last sender is gone.
        while let Ok(task) = tasks.recv() {
            if !(task.run)(&seat, task.wake) {
                break;
            }
        }
    })?;
    Ok(())
}

/// Panic messages are for the log: they may name what a script held.
fn text_of(payload: &(dyn Any + Send)) -> String {
    payload
        .downcast_ref::<&str>()
        .map(ToString::to_string)
        .or_else(|| payload.downcast_ref::<String>().cloned())
        .unwrap_or_else(|| "no message".to_owned())
}

impl<T> Running<T> {
    /// Gives the thread up at once: its place is free, and whatever it still does has
    /// no receiver.
    pub fn give_up(mut self) {
        self.finished = true;
        drop(take(&self.held));
    }
}

impl<T> Future for Running<T> {
    type Output = Result<T, Panicked>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        Pin::new(&mut self.result).poll(context).map(|result| {
            self.finished = true;
            result.unwrap_or_else(|_| Err(Panicked("the thread ended".to_owned())))
        })
    }
}

impl<T> Drop for Running<T> {
    fn drop(&mut self) {
        if self.finished {
            return;
        }
        let (held, grace) = (self.held.clone(), self.grace);
        match tokio::runtime::Handle::try_current() {
            Ok(runtime) => drop(runtime.spawn(async move {
                tokio::time::sleep(grace).await;
                drop(take(&held));
            })),
            Err(_) => drop(take(&held)),
        }
    }
}
