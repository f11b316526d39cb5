//! Integration tests: one binary, one module per behaviour.

mod cases;
mod exec_script;
mod fs_model;
mod support;
