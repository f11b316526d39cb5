//! Integration tests: one binary, one module per behaviour.

mod support;

mod cases;
mod cases_http;
mod cli;
mod commands;
mod crash;
mod exec_cut_off;
mod exec_script;
mod exec_stack;
mod fs_change_set;
mod fs_limits;
mod fs_matrix;
mod fs_model;
mod fs_paths;
mod http_auth;
mod http_batch;
mod http_disconnect;
mod http_exec;
mod http_files;
mod http_ingest;
mod http_input;
mod http_sandboxes;
mod http_serve;
mod http_sse;
mod lease_conformance;
mod lease_driver;
mod lifecycle;
mod outcome;
mod proxy_rig;
mod readme;
mod real_tree;
mod sessions;
mod store_conformance;
mod store_postgres;
mod store_sqlite;
