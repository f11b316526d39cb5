//! Integration tests: one binary, one module per behaviour.

mod fs_model;
mod support;
