//! Integration tests: one binary, one module per behaviour.

mod store_conformance;
mod store_postgres;
mod store_sqlite;
mod support;
