//! Integration tests: one binary, one module per behaviour.

mod cases;
mod exec_cut_off;
mod exec_script;
mod exec_stack;
mod fs_change_set;
mod fs_limits;
mod fs_matrix;
mod fs_model;
mod support;
