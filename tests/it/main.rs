//! Integration tests: one binary, one module per behaviour.

mod http_serve;
