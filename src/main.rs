//! The `sqlfs` binary.
fn main() {}
