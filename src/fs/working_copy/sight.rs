//! A look at all of a working copy at one moment: walks go from number to number and
//! resolve no path anew for each entry.

use std::collections::BTreeMap;
use std::sync::Arc;

use imbl::OrdMap;

use super::look::stat_of;
use super::{Stat, WorkingCopy};
use crate::fs::devices;
use crate::fs::node::{Kind, Name, Node, NodeBody, ROOT};
use crate::fs::resolve::{Final, View};
use crate::fs::{Errno, Tree};
use crate::ids::Ino;

/// What was there at one moment. To take one costs nothing; what changes later is not seen.
pub(crate) struct Sight {
    tree: Tree,
}

/// Numbers of what is laid over; below the virtual devices, above all stored ones.
const OVER: Ino = u64::MAX - (1 << 32);

impl WorkingCopy {
    /// A look at everything as it is now.
    pub(crate) fn sight(&self) -> Result<Sight, Errno> {
        self.call(|state| Ok(Sight { tree: state.tree.clone() }))
    }
}

impl Sight {
    /// The number that an absolute path leads to.
    pub(crate) fn find(&self, path: &str, follow: bool) -> Result<Ino, Errno> {
        let view = View { tree: &self.tree, devices: true };
        view.lookup(path, if follow { Final::Follow } else { Final::NoFollow })?.existing(view)
    }

    /// lstat(2) of a number; `None` of one that is gone.
    pub(crate) fn stat(&self, ino: Ino) -> Option<Stat> {
        let mut stat = stat_of(&self.tree, ino).ok()?;
        // As stat(2) tells of what is no file of the sandbox.
        if ino >= OVER {
            stat.ino = 0;
        }
        Some(stat)
    }

    /// What is in a directory, sorted by bytes, each with its number and lstat(2). Empty for
    /// what is none.
    pub(crate) fn entries(&self, dir: Ino) -> Vec<(Name, Ino, Stat)> {
        if dir == devices::DEV_DIR {
            let device = |(name, device): &(&str, devices::Device)| {
                ((*name).into(), device.ino(), devices::stat(device.ino()))
            };
            return devices::ALL.iter().map(device).collect();
        }
        let Some(entries) = self.tree.entries_of(dir) else { return Vec::new() };
        let mut listed = Vec::with_capacity(entries.len() + 1);
        for (name, &ino) in entries {
            if let Some(stat) = self.stat(ino) {
                listed.push((name.clone(), ino, stat));
            }
        }
        if dir == ROOT && !entries.contains_key("dev") {
            let at = listed.partition_point(|(name, ..)| name.as_ref() < "dev");
            listed.insert(at, ("dev".into(), devices::DEV_DIR, devices::stat(devices::DEV_DIR)));
        }
        listed
    }

    /// Whether a directory has no entries.
    pub(crate) fn is_empty(&self, dir: Ino) -> bool {
        self.tree.entries_of(dir).is_some_and(|entries| entries.is_empty() && dir != ROOT)
    }

    /// Whether a number is one of the virtual devices.
    pub(crate) fn is_device(ino: Ino) -> bool {
        devices::is_virtual(ino) && ino != devices::DEV_DIR
    }

    /// The text of a symbolic link.
    pub(crate) fn target(&self, ino: Ino) -> Option<Arc<str>> {
        match &self.tree.node(ino)?.body {
            NodeBody::Symlink { target } => Some(target.clone()),
            NodeBody::File { .. } | NodeBody::Dir { .. } => None,
        }
    }

    /// Puts files and directories beside those that are there: absolute path → what stat(2)
    /// tells. Directories above come as they are needed; what is there stays.
    pub(crate) fn lay_over(&mut self, paths: &BTreeMap<String, Stat>) {
        let mut next = OVER;
        for (path, stat) in paths {
            let mut dir = ROOT;
            let mut names = path.split('/').filter(|name| !name.is_empty()).peekable();
            while let Some(name) = names.next() {
                let there = self.tree.entries_of(dir).and_then(|entries| entries.get(name)).copied();
                if let Some(ino) = there {
                    dir = ino;
                    continue;
                }
                if self.tree.entries_of(dir).is_none() {
                    break;
                }
                let is_last = names.peek().is_none();
                let body = if is_last && stat.kind != Kind::Dir {
                    NodeBody::File { size: stat.size, sha256: None }
                } else {
                    NodeBody::Dir { entries: OrdMap::new() }
                };
                let mode = if is_last { stat.mode } else { 0o755 };
                next += 1;
                self.tree.insert(next, Node { mode, mtime_ns: stat.mtime_ns, nlink: stat.nlink, body });
                self.tree.add_name(dir, name.into(), next);
                dir = next;
            }
        }
    }
}
