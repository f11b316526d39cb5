//! What a closed process must still do, and how it must end.

use std::hint::black_box;
use std::thread;
use std::time::Duration;

/// By name; each panics, or ends the process, if it does not go well.
pub(super) const LIVES: &[(&str, fn())] = &[
    ("threads", threads),
    ("memory", memory),
    ("panic", panic),
    ("runtime", runtime),
    ("abort", abort),
    ("overflow", overflow),
];

const STACK: usize = crate::exec::pool::STACK_BYTES;

/// Threads that start late, of threads too, with stacks as large as those of scripts.
fn threads() {
    let large = || thread::Builder::new().name("late".to_owned()).stack_size(STACK);
    for _ in 0..20 {
        let outer = large().spawn(move || {
            let inner = large().spawn(|| stacker::remaining_stack().expect("a stack with bounds"));
            inner.expect("a thread of a thread").join().expect("it ends")
        });
        let left = outer.expect("a thread").join().expect("it ends");
        assert!(left > STACK / 2, "{left} bytes of stack");
    }
}

/// In pieces of all sizes, touched, grown and given back, on several threads.
fn memory() {
    let work = || {
        let mut pieces: Vec<Vec<u8>> = (4..26).map(|size| vec![1; 1 << size]).collect();
        for piece in &mut pieces {
            piece.resize(piece.len() * 3, 2);
        }
        pieces.iter().map(Vec::len).sum::<usize>()
    };
    let running: Vec<_> = (0..3).map(|_| thread::spawn(work)).collect();
    for thread in running {
        assert!(thread.join().expect("it ends") > 190 << 20);
    }
    assert_eq!(
        black_box(vec![7_u8; 600 << 20]).iter().step_by(4096).map(|byte| u64::from(*byte)).max(),
        Some(7)
    );
}

/// A backtrace reads files; it must fail softly, whatever `RUST_BACKTRACE` says.
fn panic() {
    let trace = std::backtrace::Backtrace::force_capture();
    assert!(!format!("{trace}").is_empty());
    let caught = std::panic::catch_unwind(|| panic!("caught"));
    assert!(caught.is_err());
    assert!(thread::spawn(|| panic!("in a thread")).join().is_err());
}

/// As a worker's: with time, without I/O, with threads that start later.
fn runtime() {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .thread_stack_size(STACK)
        .build()
        .expect("a runtime needs no descriptor");
    runtime.block_on(async {
        tokio::time::sleep(Duration::from_millis(5)).await;
        let blocking = tokio::task::spawn_blocking(getrandom::u64);
        assert!(blocking.await.expect("it ends").is_ok());
    });
}

fn abort() {
    std::process::abort();
}

/// On a thread, as scripts run.
fn overflow() {
    fn deeper(n: u64) -> u64 {
        let page = black_box([n; 512]);
        if page[0] == u64::MAX { 0 } else { deeper(n + 1) + page[1] }
    }
    let thread = thread::Builder::new().stack_size(1 << 20).spawn(|| deeper(0));
    let _ = thread.expect("a thread").join();
}
