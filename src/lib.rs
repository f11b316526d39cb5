//! `sqlfs`: bash over HTTP on a durable file system kept in SQL.
//!
//! An exec is a function `(immutable tree, script) → (output, exit code, change set)`,
//! and one short commit makes it true. README.md tells how to use it, DEVELOPER.md how
//! it is built.

pub mod app;
pub mod broker;
pub mod cache;
pub mod cli;
pub mod clock;
pub mod config;
pub mod exec;
pub mod fs;
pub mod http;
pub mod ids;
pub mod lease;
pub mod mcp;
pub mod metrics;
pub mod random;
pub mod remote;
pub mod session;
pub mod store;
pub mod telemetry;
