//! The file system of a sandbox, in memory: immutable trees of one version, private
//! working copies over them, and the change set that one commit makes true.
//!
//! Nothing here touches a database, a clock or a runtime (the working copy is given
//! its wall clock and its source of contents), so the same code runs in the server,
//! in a worker and in the property tests against a real directory.

pub mod change_set;
mod combine;
pub mod content_cache;
pub mod errno;
pub mod node;
pub mod path;
pub mod tree;
pub mod working_copy;

pub use change_set::{BlobUse, ChangeSet, Delta, PathChange, PathOp};
pub use errno::Errno;
pub use node::{Kind, Name, Node, NodeBody};
pub use tree::Tree;
pub use working_copy::{ContentSource, Fatal, Mode, Quota, WorkingCopy};
