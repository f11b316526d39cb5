//! The `sqlfs` binary: see [`sqlfs::cli`].

use std::process::ExitCode;

/// Warm execs answer about a tenth sooner with it than with the system's allocator.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    // One TLS provider for all clients of the process; an error means that it is there.
    let _ = rustls::crypto::ring::default_provider().install_default();
    sqlfs::cli::main()
}
