//! The `sqlfs` binary: see [`sqlfs::cli`].

use std::process::ExitCode;

fn main() -> ExitCode {
    // One TLS provider for all clients of the process; an error means that it is there.
    let _ = rustls::crypto::ring::default_provider().install_default();
    sqlfs::cli::main()
}
