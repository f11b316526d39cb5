//! Integration tests: one binary, one module per behaviour.

mod fs_change_set;
mod fs_limits;
mod fs_matrix;
mod cases;
mod exec_script;
mod fs_model;
mod support;
mod http_serve;
