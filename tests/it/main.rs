//! Integration tests: one binary, one module per behaviour.

mod cases;
mod exec_cut_off;
mod exec_script;
mod exec_stack;
mod fs_model;
mod support;
