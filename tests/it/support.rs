//! What several modules of tests need.

pub mod model;
pub mod postgres;
