//! How far a long transfer has come: one line on standard error, written again and again,
//! and only if a person looks at it.

use std::io::{IsTerminal, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use tokio_util::task::AbortOnDropHandle;

use crate::clock::{self, Instant};

/// Time between two lines.
const EVERY: Duration = Duration::from_millis(200);

/// What has passed so far. Counted by whoever moves it.
#[derive(Debug, Default)]
pub struct Counts {
    /// Bytes of files, or of an archive.
    pub bytes: AtomicU64,
    /// Files and links; 0 where they are not seen.
    pub files: AtomicU64,
    /// Bytes in all; 0 where that is not known.
    pub total: AtomicU64,
}

/// The line of one transfer. Dropped, it ends where it stands.
#[derive(Debug)]
pub struct Progress {
    counts: Arc<Counts>,
    began: Instant,
    shown: Option<AbortOnDropHandle<()>>,
}

impl Progress {
    /// Begins to show, if standard error is a terminal.
    #[must_use]
    pub fn start() -> Self {
        let (counts, began) = (Arc::new(Counts::default()), clock::now());
        let seen = counts.clone();
        let showing = async move {
            loop {
                tokio::time::sleep(EVERY).await;
                show(&seen, began, "");
            }
        };
        let shown = std::io::stderr().is_terminal().then(|| AbortOnDropHandle::new(tokio::spawn(showing)));
        Self { counts, began, shown }
    }

    /// Where to count.
    #[must_use]
    pub fn counts(&self) -> Arc<Counts> {
        self.counts.clone()
    }

    /// Ends the line. What failed is said elsewhere.
    pub async fn end(self) {
        if let Some(shown) = self.shown {
            shown.abort();
            // So that no line comes after the last one.
            let _ = shown.await;
            show(&self.counts, self.began, "\n");
        }
    }
}

fn show(counts: &Counts, began: Instant, end: &str) {
    let text = line(counts, began.elapsed());
    // Back to the beginning, and nothing is left of a longer line.
    let _ = write!(std::io::stderr(), "\r{text}\x1b[K{end}");
}

#[expect(clippy::cast_precision_loss, reason = "one digit behind the point is shown")]
fn line(counts: &Counts, took: Duration) -> String {
    let count = |number: &AtomicU64| number.load(Ordering::Relaxed);
    let (bytes, files, total) = (count(&counts.bytes), count(&counts.files), count(&counts.total));
    let files = match files {
        0 => String::new(),
        1 => "1 file, ".to_owned(),
        files => format!("{files} files, "),
    };
    let of = if total == 0 { String::new() } else { format!(" of {}", size(total)) };
    let rate = bytes as f64 / took.as_secs_f64().max(0.001);
    format!("{files}{}{of} in {:.1} s, {}/s", size(bytes), took.as_secs_f64(), size(rate as u64))
}

#[expect(clippy::cast_precision_loss, reason = "one digit behind the point is shown")]
fn size(bytes: u64) -> String {
    const UNITS: [&str; 4] = ["kB", "MB", "GB", "TB"];
    let (mut value, mut unit) = (bytes as f64, "B");
    for next in UNITS {
        if value < 1000.0 {
            break;
        }
        (value, unit) = (value / 1000.0, next);
    }
    if unit == "B" { format!("{bytes} B") } else { format!("{value:.1} {unit}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_for_people() {
        let counts = Counts::default();
        assert_eq!(line(&counts, Duration::ZERO), "0 B in 0.0 s, 0 B/s");
        counts.bytes.store(12_345_678, Ordering::Relaxed);
        counts.files.store(1, Ordering::Relaxed);
        assert_eq!(line(&counts, Duration::from_secs(2)), "1 file, 12.3 MB in 2.0 s, 6.2 MB/s");
        counts.files.store(70, Ordering::Relaxed);
        counts.total.store(5_000_000_000, Ordering::Relaxed);
        assert_eq!(line(&counts, Duration::from_secs(2)), "70 files, 12.3 MB of 5.0 GB in 2.0 s, 6.2 MB/s");
    }
}
