//! The worker's watch over its own memory. What counts is what is resident and belongs to
//! this process alone: reserved addresses cost nothing, and the program's text is shared.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::Duration;

use crate::clock;

/// Exit code of a worker that held too much.
pub(super) const OUT_OF_MEMORY: i32 = 70;

/// Bytes that a process may come to hold in a second, at most: the watch looks again
/// before the rest of its limit can be used up at this rate.
const RATE: f64 = 8e9;
const SHORTEST: Duration = Duration::from_millis(1);
const LONGEST: Duration = Duration::from_millis(200);

/// How long last words may take.
const SOON: Duration = Duration::from_millis(10);

/// And above which part of the limit nothing waits for them.
const PATIENCE: u64 = 25;

/// A worker that keeps more than this after a script is not worth keeping.
const WORN: u64 = 192 << 20;

/// An open view on the memory of this process.
pub(super) struct Memory {
    status: File,
    busy: AtomicBool,
    /// Whether the watch sleeps until a script comes.
    asleep: Mutex<bool>,
    wake: Condvar,
}

impl Memory {
    /// Opens it, before the guards close the file system.
    pub(super) fn open() -> io::Result<Self> {
        let status = File::open("/proc/self/status")?;
        Ok(Self { status, busy: false.into(), asleep: Mutex::default(), wake: Condvar::new() })
    }

    /// Bytes of anonymous memory that are resident now (`RssAnon` of proc(5)).
    fn held(&self) -> u64 {
        let mut text = [0; 4096];
        let read = self.status.read_at(&mut text, 0).unwrap_or(0);
        let text = std::str::from_utf8(&text[..read]).unwrap_or("");
        let line = text.lines().find_map(|line| line.strip_prefix("RssAnon:"));
        let kibibytes = line.and_then(|line| line.trim().strip_suffix(" kB")?.parse::<u64>().ok());
        kibibytes.unwrap_or(0) << 10
    }

    /// Whether the process has grown too large to be kept.
    pub(super) fn is_worn(&self) -> bool {
        self.held() > WORN
    }

    /// Starts the watch: above `limit`, `last_words` are said and the process ends.
    pub(super) fn watch(
        self: &Arc<Self>,
        limit: u64,
        last_words: impl Fn() + Clone + Send + 'static,
    ) -> io::Result<()> {
        let memory = self.clone();
        std::thread::Builder::new().name("memory".into()).stack_size(256 << 10).spawn(move || {
            loop {
                memory.rest();
                let held = memory.held();
                if held > limit {
                    // Another thread says them: the server may not be listening. The script goes
                    // on meanwhile, so this waits neither longer than they take nor for much more
                    // memory.
                    let begun = clock::now();
                    if let Ok(words) = std::thread::Builder::new().spawn(last_words.clone()) {
                        while !words.is_finished()
                            && begun.elapsed() < SOON
                            && memory.held() < limit + limit / PATIENCE
                        {
                            std::thread::park_timeout(SHORTEST / 4);
                        }
                    }
                    // Nothing here is worth an orderly end, and a thread computes on.
                    std::process::exit(OUT_OF_MEMORY);
                }
                let left = Duration::from_secs_f64((limit - held) as f64 / RATE);
                std::thread::park_timeout(left.clamp(SHORTEST, LONGEST));
            }
        })?;
        Ok(())
    }

    /// Sleeps while no script runs.
    fn rest(&self) {
        if self.busy.load(Ordering::SeqCst) {
            return;
        }
        let mut asleep = self.asleep.lock().unwrap_or_else(PoisonError::into_inner);
        *asleep = true;
        while !self.busy.load(Ordering::SeqCst) {
            asleep = self.wake.wait(asleep).unwrap_or_else(PoisonError::into_inner);
        }
        *asleep = false;
    }

    /// A script begins.
    pub(super) fn begin(&self) {
        self.busy.store(true, Ordering::SeqCst);
        // Scripts that follow closely find the watch awake and cost nothing here.
        if *self.asleep.lock().unwrap_or_else(PoisonError::into_inner) {
            self.wake.notify_one();
        }
    }

    /// The script has ended.
    pub(super) fn end(&self) {
        self.busy.store(false, Ordering::SeqCst);
    }
}
