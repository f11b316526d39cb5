//! Worker processes: scripts run in processes of the same binary, which can do next to nothing.

#[cfg(target_os = "linux")]
pub(crate) mod guards;
#[cfg(all(target_os = "linux", debug_assertions))]
pub mod probe;
