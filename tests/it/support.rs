//! Helpers that several modules of tests share.

pub mod cases;
pub mod fs_ops;
#[cfg(target_os = "linux")]
pub mod real_dir;
pub mod scripts;
