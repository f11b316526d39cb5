//! placeholder
use std::path::Path;
use crate::store::{Check, Options, StoreResult};
#[derive(Debug)]
pub(super) struct SqliteStore;
