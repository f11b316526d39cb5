//! Integration tests: one binary, one module per behaviour.

mod support;
