//! The file system of a sandbox, in memory: immutable trees of one version, private
//! working copies over them, and the change set that one commit makes true.
//!
//! Nothing here touches a database, a clock or a runtime (the working copy is given
//! its wall clock and its source of contents), so the same code runs in the server,
//! in a worker and in the property tests against a real directory.

pub mod change_set;
pub mod content_cache;
pub mod devices;
pub mod errno;
mod local_content;
pub mod node;
pub mod path;
mod resolve;
pub mod tree;
pub mod working_copy;

pub use change_set::{BlobUse, ChangeSet, Delta, PathChange, PathOp};
pub use content_cache::ContentCache;
pub use devices::Device;
pub use errno::Errno;
pub use node::{Kind, Name, Node, NodeBody};
pub use tree::{BrokenTree, Tree};
pub(crate) use working_copy::Sight;
pub use working_copy::{ContentSource, ContentUnavailable, Fatal, Mode, Quota, Stat, WorkingCopy};
