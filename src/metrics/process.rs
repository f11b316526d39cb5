//! The process itself, under the names that Prometheus' clients use everywhere.

use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, EncodeMetric};
use prometheus_client::metrics::counter::ConstCounter;
use prometheus_client::metrics::gauge::ConstGauge;

/// Reads `/proc/self` when asked. Elsewhere than on Linux there is nothing to read, and
/// the names are left out.
#[derive(Debug)]
pub(super) struct Process;

/// What it shows.
pub(super) const NAMES: [&str; 4] =
    ["process_cpu_seconds_total", "process_resident_memory_bytes", "process_open_fds", "process_threads"];

/// Kernel ticks a second in `/proc/self/stat`: fixed in the kernel's interface.
const TICKS: f64 = 100.0;

impl Collector for Process {
    fn encode(&self, mut encoder: DescriptorEncoder) -> Result<(), std::fmt::Error> {
        if let Some(seconds) = cpu_seconds() {
            let counter = ConstCounter::new(seconds);
            let help = "User and system time of the process in seconds";
            let to = encoder.encode_descriptor("process_cpu_seconds", help, None, counter.metric_type())?;
            counter.encode(to)?;
        }
        let gauges = [
            ("process_resident_memory_bytes", "Resident memory in bytes", resident_bytes()),
            ("process_open_fds", "Open file descriptors", open_files()),
            ("process_threads", "Threads", status("Threads:")),
        ];
        for (name, help, value) in gauges {
            let Some(value) = value else { continue };
            let gauge = ConstGauge::new(i64::try_from(value).unwrap_or(i64::MAX));
            let to = encoder.encode_descriptor(name, help, None, gauge.metric_type())?;
            gauge.encode(to)?;
        }
        Ok(())
    }
}

fn cpu_seconds() -> Option<f64> {
    let stat = std::fs::read_to_string("/proc/self/stat").ok()?;
    // The name of the program, in parentheses, may hold spaces.
    let fields: Vec<&str> = stat.rsplit_once(')')?.1.split_whitespace().collect();
    // proc(5): utime and stime are fields 14 and 15; the first after the name is 3.
    let ticks: f64 = fields.get(11)?.parse::<f64>().ok()? + fields.get(12)?.parse::<f64>().ok()?;
    Some(ticks / TICKS)
}

fn resident_bytes() -> Option<u64> {
    status("VmRSS:").map(|kib| kib * 1024)
}

fn open_files() -> Option<u64> {
    std::fs::read_dir("/proc/self/fd").ok().map(|entries| entries.count() as u64)
}

/// The number after a name in `/proc/self/status`.
fn status(name: &str) -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix(name))?;
    line.split_whitespace().next()?.parse().ok()
}
