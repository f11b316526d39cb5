//! Integration tests: one binary, one module per behaviour.
mod lease_conformance;
mod lease_driver;
